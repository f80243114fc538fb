//! Writing: a file has either its complete old or its complete new content, never anything in
//! between.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, fchmod, fchown, fstat, fsync, openat,
    renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;

use super::error::{PathError, Result};
use super::kind::PathKind;
use super::root::{Root, reopen};
use super::target::{Links, Parents, WriteTarget};

/// Prefix of the name of a file that is being written. Files left over from a crash can be removed.
pub const TEMP_PREFIX: &str = ".windlass-tmp-";

/// How often to try another temporary name.
const MAX_RETRIES: usize = 16;

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOutcome {
    /// Whether the file did not exist before.
    pub created: bool,
}

impl Root {
    /// Writes a file, and creates it and its parent directories if they are missing.
    ///
    /// The new content replaces the old atomically and is on disk when this returns. The mode of an
    /// existing file is preserved. Other names of the same file (hard links) keep the old content,
    /// because they may be outside the directory.
    pub fn write(&self, path: &str, content: &[u8]) -> Result<WriteOutcome> {
        let target = self.write_target(path, Parents::Create, Links::Follow)?;
        ensure_file(path, target.found.as_ref())?;
        let temp = TempFile::create(path, &target)?;
        temp.write_content(path, content, target.found.as_ref())?;
        temp.persist(path, &target)?;
        Ok(WriteOutcome {
            created: target.found.is_none(),
        })
    }

    /// Removes a file or a link; the target of a link is not touched.
    pub fn delete(&self, path: &str) -> Result<()> {
        let target = self.write_target(path, Parents::MustExist, Links::NoFollow)?;
        ensure_exists(path, &target)?;
        let to_error = |errno| PathError::from_errno(path, errno);
        unlinkat(&target.dir, &target.name, AtFlags::empty()).map_err(to_error)?;
        sync(target.dir.as_fd()).map_err(to_error)
    }

    /// Renames a file or a link to a path that does not exist; creates missing directories.
    pub fn rename(&self, from: &str, to: &str) -> Result<()> {
        let old = self.write_target(from, Parents::MustExist, Links::NoFollow)?;
        ensure_exists(from, &old)?;
        let new = self.write_target(to, Parents::Create, Links::NoFollow)?;
        let to_error = |errno| PathError::from_errno(to, errno);
        let flags = RenameFlags::NOREPLACE;
        renameat_with(&old.dir, &old.name, &new.dir, &new.name, flags).map_err(|errno| {
            match errno {
                // Here the error only means that the paths are on different file systems.
                Errno::XDEV => PathError::refused(to, "it is on another file system"),
                other => to_error(other),
            }
        })?;
        sync(new.dir.as_fd()).map_err(to_error)?;
        sync(old.dir.as_fd()).map_err(to_error)
    }

    /// Sets or clears the execute permission, for all users who may read the file.
    pub fn set_executable(&self, path: &str, executable: bool) -> Result<()> {
        let target = self.write_target(path, Parents::MustExist, Links::Follow)?;
        ensure_exists(path, &target)?;
        let file = File::from(
            openat(
                &target.dir,
                &target.name,
                OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
                Mode::empty(),
            )
            .map_err(|errno| PathError::from_errno(path, errno))?,
        );
        let stat = fstat(&file).map_err(|errno| PathError::from_errno(path, errno))?;
        ensure_file(path, Some(&stat))?;
        if stat.st_nlink > 1 {
            return Err(PathError::refused(
                path,
                "it has other hard links, which may be outside",
            ));
        }
        let readers = (stat.st_mode & 0o444) >> 2;
        let mode = if executable {
            stat.st_mode | readers
        } else {
            stat.st_mode & !0o111
        };
        fchmod(&file, Mode::from_raw_mode(mode & 0o777))
            .map_err(|errno| PathError::from_errno(path, errno))
    }
}

/// A file with a temporary name, removed on drop unless it was persisted.
struct TempFile<'a> {
    dir: BorrowedFd<'a>,
    name: String,
    file: File,
    is_persisted: bool,
}

impl<'a> TempFile<'a> {
    fn create(path: &str, target: &'a WriteTarget) -> Result<Self> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // The umask applies to a new file; one that replaces another file is private until then.
        let mode = Mode::from_raw_mode(if target.found.is_some() { 0o600 } else { 0o666 });
        for _ in 0..MAX_RETRIES {
            let name = format!("{TEMP_PREFIX}{}", uuid::Uuid::new_v4().simple());
            match openat(&target.dir, &name, flags, mode) {
                Ok(file) => {
                    return Ok(Self {
                        dir: target.dir.as_fd(),
                        name,
                        file: file.into(),
                        is_persisted: false,
                    });
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(PathError::from_errno(path, errno)),
            }
        }
        Err(PathError::from_errno(path, Errno::EXIST))
    }

    fn write_content(&self, path: &str, content: &[u8], replaced: Option<&Stat>) -> Result<()> {
        let to_error = |errno| PathError::from_errno(path, errno);
        (&self.file)
            .write_all(content)
            .map_err(|error| PathError::io(path, error))?;
        if let Some(old) = replaced {
            let own = fstat(&self.file).map_err(to_error)?;
            if (own.st_uid, own.st_gid) != (old.st_uid, old.st_gid) {
                // Only root can preserve another owner; otherwise the file belongs to the current
                // user.
                let owner = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
                let _ = fchown(&self.file, Some(owner.0), Some(owner.1));
            }
            fchmod(&self.file, Mode::from_raw_mode(old.st_mode & 0o777)).map_err(to_error)?;
        }
        fsync(&self.file).map_err(to_error)
    }

    fn persist(mut self, path: &str, target: &WriteTarget) -> Result<()> {
        // If the name has become a link by now, the link is replaced and not followed.
        renameat(self.dir, &self.name, &target.dir, &target.name)
            .map_err(|errno| PathError::from_errno(path, errno))?;
        self.is_persisted = true;
        sync(self.dir).map_err(|errno| PathError::from_errno(path, errno))
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if !self.is_persisted {
            // An error cannot be handled here; the name identifies the file as temporary.
            let _ = unlinkat(self.dir, &self.name, AtFlags::empty());
        }
    }
}

fn ensure_file(path: &str, found: Option<&Stat>) -> Result<()> {
    match found.map(PathKind::from_stat) {
        None | Some(PathKind::File) => Ok(()),
        Some(other) => Err(PathError::wrong_kind(path, other, PathKind::File)),
    }
}

fn ensure_exists(path: &str, target: &WriteTarget) -> Result<()> {
    match target.found.as_ref().map(PathKind::from_stat) {
        None => Err(PathError::NotFound {
            path: path.to_owned(),
        }),
        Some(PathKind::File | PathKind::Link) => Ok(()),
        Some(other) => Err(PathError::wrong_kind(path, other, PathKind::File)),
    }
}

/// Syncs the entries of a directory to disk.
fn sync(dir: BorrowedFd<'_>) -> Result<(), Errno> {
    match reopen(dir, OFlags::RDONLY | OFlags::DIRECTORY).and_then(fsync) {
        // The directory is writable but not readable, or the file system does not support it.
        Err(Errno::ACCESS | Errno::INVAL | Errno::ROFS) => Ok(()),
        other => other,
    }
}
