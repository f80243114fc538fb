//! The user's repository: its git directory, its objects and its refs.
//!
//! It is found by reading files, not by running git, because git would read settings.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::refs::{self, check_branch};
use super::small_file::small_file;
use super::{Git, GitCommand, GitOutput};
use crate::error::{Error, Result};

/// Maximum depth of alternates of alternates.
const MAX_ALTERNATES_DEPTH: usize = 5;

/// A repository that a task works on.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    /// The canonical path of the project's directory.
    pub(crate) root: PathBuf,
    /// The git directory of this work tree.
    pub(crate) git_dir: PathBuf,
    /// The git directory shared by all work trees.
    pub(crate) common: PathBuf,
    /// Whether there is no work tree.
    pub(crate) bare: bool,
}

/// The commit of a ref, and where the ref is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefStatus {
    pub(crate) commit: String,
    /// The work tree in which it is checked out.
    pub(crate) checked_out: Option<String>,
}

impl Repository {
    /// Finds the repository with the work tree at this root.
    pub(crate) fn find(root: &Path) -> Result<Self> {
        let given = root;
        let root = root
            .canonicalize()
            .map_err(|error| Error::repository(given, error.to_string()))?;
        let (git_dir, bare) = git_dir(&root)?;
        let git_dir = git_dir.canonicalize().map_err(|_| {
            let path = git_dir.display();
            Error::repository(
                given,
                format!("its git directory {path} is missing: run `git worktree repair`"),
            )
        })?;
        let common = match small_file(&git_dir.join("commondir")) {
            Some(path) => git_dir.join(path.trim()).canonicalize().map_err(|error| {
                Error::repository(
                    given,
                    format!("the shared git directory cannot be used: {error}"),
                )
            })?,
            None => git_dir.clone(),
        };
        reject_foreign(given, &common)?;
        Ok(Self {
            root,
            git_dir,
            common,
            bare,
        })
    }

    /// Returns the directories that contain its objects, its own first. Other git directories can
    /// use them as alternates.
    pub(crate) fn objects(&self) -> Vec<PathBuf> {
        let mut dirs = Vec::new();
        borrowed(&self.common.join("objects"), 0, &mut dirs);
        dirs
    }

    /// Returns the boundary of a shallow history, if there is one.
    pub(crate) fn shallow(&self) -> Option<String> {
        small_file(&self.common.join("shallow"))
    }

    /// Returns the exclude patterns of this checkout, in addition to the ignore files.
    pub(crate) fn exclude(&self) -> Option<String> {
        small_file(&self.common.join("info/exclude"))
    }

    /// Returns the object format and the commit that is checked out.
    pub(crate) async fn head(&self, git: &Git) -> Result<(String, String)> {
        if let Some(commit) = refs::head(&self.git_dir, &self.common) {
            let format = if commit.len() == 64 { "sha256" } else { "sha1" };
            return Ok((format.to_owned(), commit));
        }
        let output = self
            .query(git, &["rev-parse", "--show-object-format", "HEAD^{commit}"])
            .await?;
        let unborn = output.stderr.contains("unknown revision")
            || output.stderr.contains("ambiguous argument 'HEAD");
        if output.code != 0 && unborn {
            return Err(Error::repository(
                &self.root,
                "has no commits: create one, then try again",
            ));
        }
        let text = output.check()?.text();
        let (format, commit) = text.split_once('\n').unwrap_or(("sha1", &text));
        Ok((format.to_owned(), commit.to_owned()))
    }

    /// Returns the settings for files on disk, as lines for the section `core`: git needs them to
    /// detect edited files. Only known values are copied.
    pub(crate) async fn core_config(&self, git: &Git) -> Result<String> {
        let names = "^core\\.(filemode|symlinks|ignorecase|autocrlf|eol)$";
        let output = self.query(git, &["config", "--get-regexp", names]).await?;
        let text = output.text();
        let known =
            |value: &str| ["true", "false", "input", "lf", "crlf", "native"].contains(&value);
        let rows = text
            .lines()
            .filter_map(|line| line.strip_prefix("core.")?.split_once(' '));
        let lines = rows.filter(|(_, value)| known(value));
        Ok(lines
            .map(|(name, value)| format!("\t{name} = {value}\n"))
            .collect())
    }

    /// Returns the status of a branch, or `None` if it does not exist.
    pub(crate) async fn branch(&self, git: &Git, branch: &str) -> Result<Option<RefStatus>> {
        check_branch(branch)?;
        let full = format!("refs/heads/{branch}");
        let args = [
            "for-each-ref",
            "--format=%(refname)%09%(objectname)%09%(worktreepath)",
        ];
        let output = self.query(git, &[args[0], args[1], &full]).await?.check()?;
        let lines = output.text();
        // Git treats the name as a prefix: `a` would also match `a/b`.
        let mut rows = lines.lines().map(|line| line.splitn(3, '\t'));
        Ok(rows.find_map(|mut row| {
            (row.next()? == full).then_some(())?;
            Some(RefStatus {
                commit: row.next()?.to_owned(),
                checked_out: row
                    .next()
                    .filter(|path| !path.is_empty())
                    .map(str::to_owned),
            })
        }))
    }

    /// Moves a ref from `old` to `new`; fails if it is not at `old`. If `old` is all zeros, the ref
    /// must not exist.
    pub(crate) async fn update_ref(
        &self,
        git: &Git,
        name: &str,
        new: &str,
        old: &str,
        reason: &str,
    ) -> Result<GitOutput> {
        let message = format!("windlass: {reason}");
        self.ref_command(git)
            .output(&["update-ref", "-m", &message, "--", name, new, old])
            .await
    }

    /// Creates a command that updates refs. Only for commands that start no program.
    pub(crate) fn ref_command<'g>(&self, git: &'g Git) -> GitCommand<'g> {
        let command = git.command(&self.git_dir, git.base()).read(&self.objects());
        command.write(&self.common).write(&self.git_dir)
    }

    /// Returns the commit of a ref, or `None` if it does not exist.
    pub(crate) async fn ref_commit(&self, git: &Git, name: &str) -> Result<Option<String>> {
        let args = ["rev-parse", "--verify", "--quiet", name];
        let output = self.query(git, &args).await?;
        Ok((output.code == 0).then(|| output.text()))
    }

    /// Runs a query about refs. Only for commands that load no index and start no program.
    pub(crate) async fn query(&self, git: &Git, args: &[&str]) -> Result<GitOutput> {
        let objects = self.objects();
        let command = git.command(&self.git_dir, git.base());
        let command = command.read([&self.git_dir, &self.common]).read(&objects);
        command.output(args).await
    }
}

/// Returns the commit that is checked out in the work tree with this root, if it can be read
/// directly from files.
pub fn head_commit(root: &Path) -> Option<String> {
    let repository = Repository::find(root).ok()?;
    refs::head(&repository.git_dir, &repository.common)
}

/// Returns the git directory of a work tree, and whether the repository is bare.
fn git_dir(root: &Path) -> Result<(PathBuf, bool)> {
    let dot = root.join(".git");
    if dot.is_dir() {
        return Ok((dot, false));
    }
    if let Some(text) = small_file(&dot) {
        let path = text.trim().strip_prefix("gitdir:").map(str::trim);
        let path =
            path.ok_or_else(|| Error::repository(root, "its .git file names no git directory"))?;
        return Ok((root.join(path), false));
    }
    if root.join("HEAD").is_file() && root.join("objects").is_dir() && root.join("refs").is_dir() {
        return Ok((root.to_owned(), true));
    }
    let above = root
        .ancestors()
        .skip(1)
        .find(|dir| dir.join(".git").exists());
    Err(match above {
        Some(above) => Error::repository(
            root,
            format!(
                "is inside the repository {}: use that directory",
                above.display()
            ),
        ),
        None => Error::repository(
            root,
            "is not a git repository: run `git init` and commit, or use another directory",
        ),
    })
}

/// Rejects a repository of another user, for the same reason as git itself.
fn reject_foreign(given: &Path, git_dir: &Path) -> Result<()> {
    let owner = git_dir
        .metadata()
        .map_err(|error| Error::io(git_dir, &error))?
        .uid();
    if owner == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(Error::repository(
        given,
        format!(
            "belongs to another user ({owner}): run Windlass as that user, or change the owner"
        ),
    ))
}

/// Follows alternates. A directory that does not look like an object directory is skipped: naming
/// it must not make it readable for processes that may read the objects.
fn borrowed(objects: &Path, depth: usize, dirs: &mut Vec<PathBuf>) {
    let Ok(real) = objects.canonicalize() else {
        return;
    };
    let looks_right = depth == 0 || (real.join("pack").is_dir() && real.join("info").is_dir());
    if depth > MAX_ALTERNATES_DEPTH || !looks_right || dirs.contains(&real) {
        return;
    }
    dirs.push(real.clone());
    let list = small_file(&real.join("info/alternates")).unwrap_or_default();
    for line in list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        borrowed(&real.join(line), depth + 1, dirs);
    }
}
