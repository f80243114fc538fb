//! `.windlass/windlass.db` in a repository: the store of earlier versions.
//!
//! Such a file may also come with a repository, and then its content is an attack. It is therefore never opened where
//! it is. It is copied, checked and moved if it is certain that it did not come with the repository and the user agrees.

use std::fmt;
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, fcntl_lock};

use crate::cli::app::App;
use crate::cli::exit::CliError;
use crate::config::Config;
use crate::git_history::GitHistory;
use crate::registry;

/// Path in a repository.
const FILE: &str = ".windlass/windlass.db";

/// A store in a repository.
pub(super) struct RepositoryFile {
    root: PathBuf,
    path: PathBuf,
}

impl fmt::Display for RepositoryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

impl RepositoryFile {
    /// Finds the file where an earlier version created it: in the directory of the configuration or of the repository.
    pub(super) fn find(config: &Config, root: &Path) -> Option<Self> {
        let dirs = [config.root(), root];
        let mut paths = dirs.map(|dir| dir.join(FILE)).into_iter();
        let path = paths.find(|path| path.symlink_metadata().is_ok())?;
        Some(Self {
            root: root.to_owned(),
            path,
        })
    }

    /// Moves the file if the user agrees at the terminal. A file that must not be used is ignored with a notice.
    pub(super) async fn offer_move(&self, app: &App<'_>, target: &Path) -> Result<(), CliError> {
        if let Some(why) = self.rejection(app, target).await {
            app.console.notice(&format!("{self} is ignored: {why}"));
            return Ok(());
        }
        match app.console.confirm(&self.question(target))? {
            Some(true) => self.move_to(app, target).await,
            Some(false) | None => Err(CliError::usage(format!(
                "{self} is the store of an earlier version: run windlass store move, or delete it to start with an \
                 empty store"
            ))),
        }
    }

    pub(super) fn question(&self, target: &Path) -> String {
        let target = target.display();
        format!("{self} is the store of an earlier version. Move it to {target}? [y/N] ")
    }

    /// Returns why the file must not be used, if so. The file is not opened.
    pub(super) async fn rejection(&self, app: &App<'_>, target: &Path) -> Option<String> {
        if target.symlink_metadata().is_ok() {
            return Some(format!(
                "the tasks of this project are in {}",
                target.display()
            ));
        }
        if !is_plain(&self.path) {
            return Some("it is not a regular file in a regular directory".to_owned());
        }
        let dirs = [self.root.as_path(), self.path.parent()?, &self.path];
        if !dirs.into_iter().all(is_own) {
            return Some("it belongs to another user".to_owned());
        }
        let inside = self.path.strip_prefix(&self.root).ok()?;
        match is_tracked(app, &self.root, inside).await {
            Some(false) => None,
            Some(true) => {
                Some("it is tracked by git, and a store never comes with a repository".to_owned())
            }
            None => Some("git does not say whether it is tracked".to_owned()),
        }
    }

    /// Copies the file, checks the copy, puts it in place, and removes the original.
    pub(super) async fn move_to(&self, app: &App<'_>, target: &Path) -> Result<(), CliError> {
        let failed = |error: io::Error| CliError::failed(format!("{self} was not moved: {error}"));
        if is_in_use(&self.beside("-shm")).map_err(failed)? {
            return Err(CliError::failed(format!(
                "{self} is used by another process: stop the workers and the server, then repeat the command"
            )));
        }
        let dir = target.parent().unwrap_or(target);
        let mut builder = std::fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(failed)?;
        // Removed with everything in it, whatever happens.
        let scratch = tempfile::Builder::new()
            .prefix(".move-")
            .tempdir_in(dir)
            .map_err(failed)?;
        let copy = scratch.path().join("windlass.db");
        copy_private(&self.path, &copy).map_err(failed)?;
        let log = self.beside("-wal");
        if log.symlink_metadata().is_ok() {
            copy_private(&log, &scratch.path().join("windlass.db-wal")).map_err(failed)?;
        }
        let found = windlass_store::inspect(&copy).await.map_err(|error| {
            let error = error.to_string();
            let error = error.replace(&copy.display().to_string(), "the file");
            CliError::failed(format!("{self} was not moved: {error}"))
        })?;
        if let Some(other) = found.roots.iter().find(|root| **root != self.root) {
            return Err(CliError::usage(format!(
                "{self} was not moved: it is the store of {}, not of this repository; set store.url to use it, or \
                 delete it",
                other.display()
            )));
        }
        // Fails if another process has put a store there.
        std::fs::hard_link(&copy, target).map_err(failed)?;
        File::open(dir)
            .and_then(|dir| dir.sync_all())
            .map_err(failed)?;
        self.remove();
        app.console.notice(&format!(
            "moved {self} to {} ({} open tasks)",
            target.display(),
            found.open_tasks
        ));
        Ok(())
    }

    /// Returns the path of a file that SQLite creates next to the database.
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.as_os_str().to_owned();
        path.push(suffix);
        path.into()
    }

    /// Removes the original. What remains is ignored from now on, because the target exists.
    fn remove(&self) {
        for path in [
            self.path.clone(),
            self.beside("-wal"),
            self.beside("-shm"),
            self.path.with_file_name(".gitignore"),
        ] {
            let _ = std::fs::remove_file(path);
        }
        if let Some(dir) = self.path.parent() {
            let _ = std::fs::remove_dir(dir);
        }
    }
}

/// Returns whether git tracks a path or contains it in the checked-out commit; `None` if git does not say.
pub(super) async fn is_tracked(app: &App<'_>, root: &Path, path: &Path) -> Option<bool> {
    let path = path.to_str()?;
    let sandbox = registry::sandbox(app.config().ok()?).await.ok()?;
    let git = GitHistory::new(sandbox);
    let index = git.run(root, &["ls-files", "-z", "--", path]).await?;
    let has_commit = git.run(root, &["rev-parse", "--verify", "HEAD"]).await;
    let commit = match has_commit {
        Some(_) => {
            git.run(root, &["ls-tree", "-z", "HEAD", "--", path])
                .await?
        }
        None => String::new(),
    };
    Some(!index.is_empty() || !commit.is_empty())
}

/// Returns `true` for a regular file in a directory that is not a symbolic link.
fn is_plain(path: &Path) -> bool {
    let is_file = path.symlink_metadata().is_ok_and(|file| file.is_file());
    let dir = path.parent().and_then(|dir| dir.symlink_metadata().ok());
    is_file && dir.is_some_and(|dir| dir.is_dir())
}

/// Returns `true` if the path belongs to the user.
fn is_own(path: &Path) -> bool {
    let owner = path.symlink_metadata().map(|metadata| metadata.uid());
    owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw())
}

/// Returns `true` if another process has the database open: it holds a lock on its shared memory.
pub(super) fn is_in_use(shared_memory: &Path) -> io::Result<bool> {
    let file = match open_no_follow(shared_memory, true) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(false),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Copies a file for its owner only. Symbolic links are not followed.
fn copy_private(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = open_no_follow(from, false)?;
    let mut options = OpenOptions::new();
    let mut to = options.write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut from, &mut to)?;
    to.set_permissions(Permissions::from_mode(0o600))?;
    to.sync_all()
}

fn open_no_follow(path: &Path, write: bool) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).write(write).custom_flags(flags);
    options.open(path)
}
