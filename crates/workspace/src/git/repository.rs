//! The user's repository: where its git folder and its objects are, and what its refs say.
//!
//! It is found by reading files, not by asking git: git would look at settings on its way.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Git, GitOutput, refs};
use crate::error::{Error, Result};

/// The longest of the small files that git keeps.
const SMALL_FILE: u64 = 64 << 10;

/// How deep borrowed objects may borrow again.
const DEPTH: usize = 5;

/// A repository that a task works on.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    /// The project's folder, by its real path.
    pub(crate) root: PathBuf,
    /// The git folder of this work tree.
    pub(crate) git_dir: PathBuf,
    /// The git folder that all work trees share.
    pub(crate) common: PathBuf,
    /// Whether there is no work tree.
    pub(crate) bare: bool,
}

/// Where a ref stands, and who has it checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefStatus {
    pub(crate) commit: String,
    /// The work tree in which it is checked out.
    pub(crate) checked_out: Option<String>,
}

impl Repository {
    /// The repository whose work tree begins at `root`.
    pub(crate) fn find(root: &Path) -> Result<Self> {
        let given = root;
        let root = root
            .canonicalize()
            .map_err(|error| Error::repository(given, error.to_string()))?;
        let (git_dir, bare) = git_dir(&root)?;
        let git_dir = git_dir.canonicalize().map_err(|_| {
            let there = git_dir.display();
            Error::repository(
                given,
                format!("its git folder {there} is missing: run `git worktree repair`"),
            )
        })?;
        let common = match small_file(&git_dir.join("commondir")) {
            Some(path) => git_dir.join(path.trim()).canonicalize().map_err(|error| {
                Error::repository(
                    given,
                    format!("the shared git folder cannot be used: {error}"),
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

    /// The folders that hold its objects, its own first. Others can name them to share the objects.
    pub(crate) fn objects(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        borrowed(&self.common.join("objects"), 0, &mut found);
        found
    }

    /// Where its history was cut, if it was.
    pub(crate) fn shallow(&self) -> Option<String> {
        small_file(&self.common.join("shallow"))
    }

    /// The patterns of files that this checkout leaves out, and no ignore file names.
    pub(crate) fn exclude(&self) -> Option<String> {
        small_file(&self.common.join("info/exclude"))
    }

    /// The hash in use and the commit that is checked out.
    pub(crate) async fn head(&self, git: &Git) -> Result<(String, String)> {
        if let Some(commit) = refs::head(self) {
            let format = if commit.len() == 64 { "sha256" } else { "sha1" };
            return Ok((format.to_owned(), commit));
        }
        let said = self
            .query(git, &["rev-parse", "--show-object-format", "HEAD^{commit}"])
            .await?;
        let unborn = said.stderr.contains("unknown revision")
            || said.stderr.contains("ambiguous argument 'HEAD");
        if said.code != 0 && unborn {
            return Err(Error::repository(
                &self.root,
                "there is no commit yet: make a first one, then try again",
            ));
        }
        let said = said.check()?.text();
        let (format, commit) = said.split_once('\n').unwrap_or(("sha1", &said));
        Ok((format.to_owned(), commit.to_owned()))
    }

    /// How it keeps its files on disk, as lines for the section `core`: what git must know to tell an edited
    /// file from one that is not. Only words that can mean nothing else are taken over.
    pub(crate) async fn core_config(&self, git: &Git) -> Result<String> {
        let names = "^core\\.(filemode|symlinks|ignorecase|autocrlf|eol)$";
        let said = self.query(git, &["config", "--get-regexp", names]).await?;
        let text = said.text();
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

    /// Where a branch stands, if there is one of this name.
    pub(crate) async fn branch(&self, git: &Git, branch: &str) -> Result<Option<RefStatus>> {
        check_branch(branch)?;
        let full = format!("refs/heads/{branch}");
        let args = [
            "for-each-ref",
            "--format=%(refname)%09%(objectname)%09%(worktreepath)",
        ];
        let said = self.query(git, &[args[0], args[1], &full]).await?.check()?;
        let lines = said.text();
        // The name is a prefix to git: `a` would find `a/b` as well.
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

    /// Moves a ref from `old` to `new`; refused if it does not stand at `old`. All zeros: it must not
    /// be there yet.
    pub(crate) async fn update_ref(
        &self,
        git: &Git,
        name: &str,
        new: &str,
        old: &str,
        why: &str,
    ) -> Result<GitOutput> {
        let message = format!("windlass: {why}");
        let call = git.command(&self.git_dir, git.base()).read(&self.objects());
        let call = call.write(&self.common).write(&self.git_dir);
        call.output(&["update-ref", "-m", &message, "--", name, new, old])
            .await
    }

    /// Asks about refs. Only for commands that load no index and start nothing.
    pub(crate) async fn query(&self, git: &Git, args: &[&str]) -> Result<GitOutput> {
        let objects = self.objects();
        let call = git.command(&self.git_dir, git.base());
        let call = call.read([&self.git_dir, &self.common]).read(&objects);
        call.output(args).await
    }
}

/// The git folder of a work tree, and whether it is all there is.
fn git_dir(root: &Path) -> Result<(PathBuf, bool)> {
    let dot = root.join(".git");
    if dot.is_dir() {
        return Ok((dot, false));
    }
    if let Some(text) = small_file(&dot) {
        let path = text.trim().strip_prefix("gitdir:").map(str::trim);
        let path =
            path.ok_or_else(|| Error::repository(root, "its .git file names no git folder"))?;
        return Ok((root.join(path), false));
    }
    if root.join("HEAD").is_file() && root.join("objects").is_dir() && root.join("refs").is_dir() {
        return Ok((root.to_owned(), true));
    }
    let above = root
        .ancestors()
        .skip(1)
        .find(|folder| folder.join(".git").exists());
    Err(match above {
        Some(above) => Error::repository(
            root,
            format!(
                "lies inside the repository {}: name that folder",
                above.display()
            ),
        ),
        None => Error::repository(
            root,
            "is not a git repository: run `git init` and commit, or name another folder",
        ),
    })
}

/// Somebody else's repository is not ours to run git in, for the same reason that git itself refuses.
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

/// Follows the lists of borrowed objects. A folder that does not look like one of objects is not
/// followed: naming it must not open it to whoever may read the objects.
fn borrowed(objects: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(real) = objects.canonicalize() else {
        return;
    };
    let looks_right = depth == 0 || (real.join("pack").is_dir() && real.join("info").is_dir());
    if depth > DEPTH || !looks_right || found.contains(&real) {
        return;
    }
    found.push(real.clone());
    let list = small_file(&real.join("info/alternates")).unwrap_or_default();
    for line in list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        borrowed(&real.join(line), depth + 1, found);
    }
}

/// The text of a small file that is really a file.
pub(crate) fn small_file(path: &Path) -> Option<String> {
    let file = std::fs::File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(SMALL_FILE).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Refuses names that git would refuse, and those that could be taken for something else.
pub(crate) fn check_branch(branch: &str) -> Result<()> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+' | '#');
    let part_is_fine = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && !part.ends_with(".lock")
    };
    let fine = branch.len() <= 200
        && branch.chars().all(plain)
        && !branch.starts_with('-')
        && !branch.contains("..")
        && branch.split('/').all(part_is_fine);
    if fine {
        return Ok(());
    }
    Err(Error::branch(branch, "not a name that a branch can have"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p21_a_branch_name_is_never_a_flag_or_an_expression() {
        for bad in [
            "", "-f", "a..b", "a b", "a~1", "a:b", "@{u}", "a/", "/a", "a//b", "a.lock", ".a",
            "a\0", "a\n",
        ] {
            assert!(check_branch(bad).is_err(), "{bad:?}");
        }
        for good in ["windlass/task-7", "main", "feature/ä", "v1.2"] {
            check_branch(good).unwrap();
        }
    }
}
