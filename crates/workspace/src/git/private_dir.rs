//! A private git directory: it shares a repository's objects, and uses none of its settings.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{Git, GitCommand, Repository, small_file};
use crate::error::{Error, Result};

/// Artifacts of tests and tools that are never part of a change. Tracked files are not affected.
const ARTIFACT_PATTERNS: &str = "\
__pycache__/
*.py[co]
.pytest_cache/
.mypy_cache/
.ruff_cache/
.venv/
node_modules/
.DS_Store
";

/// Maximum number of entries of a git directory that are examined.
const MAX_GIT_DIR_ENTRIES: usize = 10_000;

/// A git directory with objects borrowed from a repository.
#[derive(Debug, Clone)]
pub(crate) struct PrivateGitDir {
    dir: PathBuf,
    /// The directory that git may write to: a parent that no other program writes to.
    writable: PathBuf,
    /// The object directories it borrows from.
    shared: Vec<PathBuf>,
}

impl PrivateGitDir {
    /// Creates a git directory at `dir`, which must not exist, for commands that may write to `writable`.
    pub(crate) fn create(
        dir: &Path,
        writable: &Path,
        repository: &Repository,
        format: &str,
    ) -> Result<Self> {
        let git_dir = Self::open(dir, writable, repository);
        write_skeleton(dir, repository, format, &git_dir.shared)?;
        Ok(git_dir)
    }

    /// Creates a git directory at `dir`, which must not exist, that borrows these objects.
    pub(crate) fn create_sharing(
        dir: &Path,
        writable: &Path,
        shared: Vec<PathBuf>,
    ) -> Result<Self> {
        create_dirs(dir)?;
        write(&dir.join("HEAD"), "ref: refs/heads/main\n")?;
        write(
            &dir.join("config"),
            "[core]\n\trepositoryformatversion = 0\n",
        )?;
        let text = alternates(dir, &shared)?;
        write(&dir.join("objects/info/alternates"), &text)?;
        Ok(Self::at(dir, writable, shared))
    }

    /// Opens the git directory that was created at `dir`.
    pub(crate) fn open(dir: &Path, writable: &Path, repository: &Repository) -> Self {
        Self::at(dir, writable, repository.objects())
    }

    /// Opens the git directory that was created at `dir` and borrows these objects.
    pub(crate) fn at(dir: &Path, writable: &Path, shared: Vec<PathBuf>) -> Self {
        Self {
            dir: dir.to_owned(),
            writable: writable.to_owned(),
            shared,
        }
    }

    /// Creates a git directory at `dir`, which must not exist, that borrows the objects of this one too. It
    /// has no refs.
    pub(crate) fn fork(&self, dir: &Path, writable: &Path) -> Result<Self> {
        let mut shared = vec![self.dir.join("objects")];
        shared.extend(self.shared.iter().cloned());
        create_dirs(dir)?;
        write(
            &dir.join("objects/info/alternates"),
            &alternates(&self.dir, &shared)?,
        )?;
        for name in ["HEAD", "config", "shallow", "info/exclude"] {
            if let Some(text) = small_file(&self.dir.join(name)) {
                write(&dir.join(name), &text)?;
            }
        }
        Ok(Self::at(dir, writable, shared))
    }

    /// Prepares it for an agent: adds a branch at `commit`, these tags, and a user for commits.
    pub(crate) fn init_for_agent(&self, commit: &str, tags: &str) -> Result<()> {
        write(&self.dir.join("refs/heads/main"), &format!("{commit}\n"))?;
        if !tags.is_empty() {
            write(
                &self.dir.join("packed-refs"),
                &format!("# pack-refs with:\n{tags}"),
            )?;
        }
        let config = self.dir.join("config");
        let settings = small_file(&config).unwrap_or_default();
        let user = "[user]\n\tname = Windlass\n\temail = windlass@localhost\n";
        write(&config, &format!("{settings}{user}"))
    }

    /// Adds settings to the section `core`.
    pub(crate) fn add_core_config(&self, core: &str) -> Result<()> {
        if core.is_empty() {
            return Ok(());
        }
        let config = self.dir.join("config");
        let settings = small_file(&config).unwrap_or_default();
        write(&config, &format!("{settings}[core]\n{core}"))
    }

    /// Lets git read an index of this git directory that is split in two files, and write it as one.
    pub(crate) fn share_split_index(&self, git_dir: &Path) -> Result<()> {
        let entries = fs::read_dir(git_dir).map_err(|error| Error::io(git_dir, &error))?;
        let mut is_split = false;
        for entry in entries.take(MAX_GIT_DIR_ENTRIES) {
            let entry = entry.map_err(|error| Error::io(git_dir, &error))?;
            let name = entry.file_name();
            if !name.to_string_lossy().starts_with("sharedindex.") {
                continue;
            }
            is_split = true;
            let link = self.dir.join(&name);
            match std::os::unix::fs::symlink(entry.path(), &link) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(Error::io(&link, &error));
                }
                _ => {}
            }
        }
        if is_split {
            self.add_core_config("\tsplitIndex = false\n")?;
        }
        Ok(())
    }

    /// Sets `HEAD` to a commit.
    pub(crate) fn set_head(&self, commit: &str) -> Result<()> {
        write(&self.dir.join("HEAD"), &format!("{commit}\n"))
    }

    /// Creates a command that reads no files other than its own and the objects.
    pub(crate) fn command<'g>(&self, git: &'g Git) -> GitCommand<'g> {
        git.command(&self.dir, &self.writable).unsandboxed()
    }

    /// Creates a sandboxed command that compares with the files in `work`, which may come from any
    /// program.
    pub(crate) fn command_in<'g>(&self, git: &'g Git, work: &Path) -> GitCommand<'g> {
        let command = git.command(&self.dir, &self.writable).read(&self.shared);
        command.work_tree(work)
    }

    /// Returns the directories from which it borrows objects.
    pub(crate) fn borrowed_object_dirs(&self) -> &[PathBuf] {
        &self.shared
    }

    /// Returns its path.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the path of its index.
    pub(crate) fn index(&self) -> PathBuf {
        self.dir.join("index")
    }

    /// Excludes these patterns in addition to the artifacts.
    pub(crate) fn exclude(&self, more: &str) -> Result<()> {
        write(
            &self.dir.join("info/exclude"),
            &format!("{ARTIFACT_PATTERNS}{more}"),
        )
    }

    /// Stores and restores every byte of a file, whatever the attributes in the work tree say.
    pub(crate) fn keep_bytes(&self) -> Result<()> {
        write(
            &self.dir.join("info/attributes"),
            "* -text -eol -ident -filter -working-tree-encoding\n",
        )
    }

    /// Excludes these paths, in addition to what is excluded already.
    pub(crate) fn exclude_paths(&self, paths: &[String]) -> Result<()> {
        let file = self.dir.join("info/exclude");
        let mut text = small_file(&file).unwrap_or_default();
        for path in paths {
            text.push('/');
            for c in path.chars() {
                if matches!(c, '*' | '?' | '[' | '\\' | ' ') {
                    text.push('\\');
                }
                text.push(c);
            }
            text.push('\n');
        }
        write(&file, &text)
    }

    /// Packs the objects of `tip` that `bases` do not have, directly into the repository's objects.
    pub(crate) async fn export_pack(
        &self,
        git: &Git,
        repository: &Repository,
        tip: &str,
        bases: &[&str],
    ) -> Result<()> {
        let objects = repository.common.join("objects");
        let pack = objects.join("pack");
        fs::create_dir_all(&pack).map_err(|error| Error::io(&pack, &error))?;
        let mut revs = format!("{tip}\n");
        for base in bases {
            revs.push_str(&format!("^{base}\n"));
        }
        let target = pack.join("pack");
        let target = target
            .to_str()
            .ok_or_else(|| Error::repository(&repository.root, "its path is not UTF-8: move it"))?;
        // Written to its final directory: a pack cannot be renamed across file systems.
        self.command(git)
            .objects(&objects, &self.dir.join("objects"))
            .input(revs)
            .run(&[
                "pack-objects",
                "--revs",
                "--quiet",
                "--delta-base-offset",
                target,
            ])
            .await?;
        Ok(())
    }
}

/// Writes the files of a git directory with the history of `repository` and no branch.
fn write_skeleton(
    dir: &Path,
    repository: &Repository,
    format: &str,
    shared: &[PathBuf],
) -> Result<()> {
    create_dirs(dir)?;
    let config = if format == "sha1" {
        "[core]\n\trepositoryformatversion = 0\n".to_owned()
    } else {
        format!("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = {format}\n")
    };
    write(&dir.join("HEAD"), "ref: refs/heads/main\n")?;
    write(&dir.join("config"), &config)?;
    write(
        &dir.join("objects/info/alternates"),
        &alternates(&repository.root, shared)?,
    )?;
    if let Some(shallow) = repository.shallow() {
        write(&dir.join("shallow"), &shallow)?;
    }
    Ok(())
}

/// Creates the directories of a git directory.
fn create_dirs(dir: &Path) -> Result<()> {
    for part in [
        "",
        "objects",
        "objects/info",
        "objects/pack",
        "refs",
        "refs/heads",
        "info",
    ] {
        let path = dir.join(part);
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| Error::io(&path, &error))?;
    }
    Ok(())
}

/// Returns the text of a file that lists borrowed object directories.
fn alternates(root: &Path, shared: &[PathBuf]) -> Result<String> {
    let mut text = String::new();
    for path in shared {
        let path = path.to_str().filter(|path| !path.contains('\n'));
        let path =
            path.ok_or_else(|| Error::repository(root, "its path is not plain text: move it"))?;
        text.push_str(path);
        text.push('\n');
    }
    Ok(text)
}

pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Error::io(path, &error))
}
