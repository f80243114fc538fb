//! A git folder of our own making: it shares a repository's objects, and obeys nobody's settings.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{Git, GitCommand, Repository, small_file};
use crate::error::{Error, Result};

/// What tests and tools leave behind, and no change consists of. Tracked files are not concerned.
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

/// A git folder with objects borrowed from a repository.
#[derive(Debug, Clone)]
pub(crate) struct PrivateGitDir {
    folder: PathBuf,
    /// Where git is started: a folder around it that nobody else writes to.
    cwd: PathBuf,
    /// What it borrows.
    shared: Vec<PathBuf>,
}

impl PrivateGitDir {
    /// Makes a git folder at `folder`, which must not exist, for calls that start in `cwd`.
    pub(crate) fn create(
        folder: &Path,
        cwd: &Path,
        repository: &Repository,
        format: &str,
    ) -> Result<Self> {
        let own = Self::open(folder, cwd, repository);
        write_skeleton(folder, repository, format, &own.shared)?;
        Ok(own)
    }

    /// The git folder that was made at `folder`.
    pub(crate) fn open(folder: &Path, cwd: &Path, repository: &Repository) -> Self {
        Self {
            folder: folder.to_owned(),
            cwd: cwd.to_owned(),
            shared: repository.objects(),
        }
    }

    /// Makes it one to work in: with a branch at `commit`, these tags, and somebody to sign.
    pub(crate) fn init_for_agent(&self, commit: &str, tags: &str) -> Result<()> {
        write(&self.folder.join("refs/heads/main"), &format!("{commit}\n"))?;
        if !tags.is_empty() {
            write(
                &self.folder.join("packed-refs"),
                &format!("# pack-refs with:\n{tags}"),
            )?;
        }
        let config = self.folder.join("config");
        let settings = small_file(&config).unwrap_or_default();
        let user = "[user]\n\tname = Windlass\n\temail = windlass@localhost\n";
        write(&config, &format!("{settings}{user}"))
    }

    /// Adds settings of the section `core`.
    pub(crate) fn add_core_config(&self, core: &str) -> Result<()> {
        if core.is_empty() {
            return Ok(());
        }
        let config = self.folder.join("config");
        let settings = small_file(&config).unwrap_or_default();
        write(&config, &format!("{settings}[core]\n{core}"))
    }

    /// Has `HEAD` name a commit.
    pub(crate) fn set_head(&self, commit: &str) -> Result<()> {
        write(&self.folder.join("HEAD"), &format!("{commit}\n"))
    }

    /// A call in it that reads no file of anybody else.
    pub(crate) fn command<'g>(&self, git: &'g Git) -> GitCommand<'g> {
        git.command(&self.folder, &self.cwd).unsandboxed()
    }

    /// A call in it that compares with the files in `work`, whoever wrote them: behind walls.
    pub(crate) fn command_in<'g>(&self, git: &'g Git, work: &Path) -> GitCommand<'g> {
        let call = git.command(&self.folder, &self.cwd).read(&self.shared);
        call.work_tree(work)
    }

    /// The folders whose objects it borrows.
    pub(crate) fn borrowed_object_dirs(&self) -> &[PathBuf] {
        &self.shared
    }

    /// Its index.
    pub(crate) fn index(&self) -> PathBuf {
        self.folder.join("index")
    }

    /// Takes these patterns for by-products too.
    pub(crate) fn exclude(&self, more: &str) -> Result<()> {
        write(
            &self.folder.join("info/exclude"),
            &format!("{ARTIFACT_PATTERNS}{more}"),
        )
    }

    /// Packs what `tip` has and `bases` do not have, straight into the repository's objects.
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
        let mut wanted = format!("{tip}\n");
        for base in bases {
            wanted.push_str(&format!("^{base}\n"));
        }
        let target = pack.join("pack");
        let target = target
            .to_str()
            .ok_or_else(|| Error::repository(&repository.root, "its path is not UTF-8: move it"))?;
        // Written where it will stay: a pack cannot be renamed from one file system to another.
        self.command(git)
            .objects(&objects, &self.folder.join("objects"))
            .input(wanted)
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

/// The files that make a folder a git folder, with history of `repository` and no branch.
fn write_skeleton(
    folder: &Path,
    repository: &Repository,
    format: &str,
    shared: &[PathBuf],
) -> Result<()> {
    for part in [
        "",
        "objects",
        "objects/info",
        "objects/pack",
        "refs",
        "refs/heads",
        "info",
    ] {
        let path = folder.join(part);
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| Error::io(&path, &error))?;
    }
    let config = if format == "sha1" {
        "[core]\n\trepositoryformatversion = 0\n".to_owned()
    } else {
        format!("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = {format}\n")
    };
    let mut lenders = String::new();
    for path in shared {
        let path = path.to_str().filter(|path| !path.contains('\n'));
        let path = path.ok_or_else(|| {
            Error::repository(&repository.root, "its path is not plain text: move it")
        })?;
        lenders.push_str(path);
        lenders.push('\n');
    }
    write(&folder.join("HEAD"), "ref: refs/heads/main\n")?;
    write(&folder.join("config"), &config)?;
    write(&folder.join("objects/info/alternates"), &lenders)?;
    if let Some(shallow) = repository.shallow() {
        write(&folder.join("shallow"), &shallow)?;
    }
    Ok(())
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
