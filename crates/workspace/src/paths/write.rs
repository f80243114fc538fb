//! Changes: a file is there whole, as it was or as it will be, and never in between.

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

/// How the name of a file begins that is being written. One that a crash left behind can be removed.
pub const TEMP_PREFIX: &str = ".windlass-tmp-";

/// How often another temporary name is tried.
const MAX_RETRIES: usize = 16;

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOutcome {
    /// Whether there was no such file before.
    pub created: bool,
}

impl Root {
    /// Gives a file this content, and makes it and its folders where they are missing.
    ///
    /// The new content replaces the old in one step and is on the disk when this returns. The mode of
    /// an old file is kept. Other names of the same file (hard links) keep the old content: what they
    /// stand for may lie outside.
    pub fn write(&self, path: &str, content: &[u8]) -> Result<WriteOutcome> {
        let place = self.write_target(path, Parents::Create, Links::Follow)?;
        must_be_file(path, place.found.as_ref())?;
        let temporary = TempFile::make(path, &place)?;
        temporary.fill(path, content, place.found.as_ref())?;
        temporary.put(path, &place)?;
        Ok(WriteOutcome {
            created: place.found.is_none(),
        })
    }

    /// Removes a file, or a link itself and not what it leads to.
    pub fn delete(&self, path: &str) -> Result<()> {
        let place = self.write_target(path, Parents::MustExist, Links::NoFollow)?;
        must_be_there(path, &place)?;
        let fault = |errno| PathError::from_errno(path, errno);
        unlinkat(&place.folder, &place.name, AtFlags::empty()).map_err(fault)?;
        sync(place.folder.as_fd()).map_err(fault)
    }

    /// Gives a file, or a link itself, another name where nothing is yet; makes missing folders.
    pub fn rename(&self, from: &str, to: &str) -> Result<()> {
        let old = self.write_target(from, Parents::MustExist, Links::NoFollow)?;
        must_be_there(from, &old)?;
        let new = self.write_target(to, Parents::Create, Links::NoFollow)?;
        let fault = |errno| PathError::from_errno(to, errno);
        let flags = RenameFlags::NOREPLACE;
        renameat_with(&old.folder, &old.name, &new.folder, &new.name, flags).map_err(|errno| {
            match errno {
                // Here it only says that the two lie on different file systems.
                Errno::XDEV => PathError::refused(to, "it lies on another file system"),
                other => fault(other),
            }
        })?;
        sync(new.folder.as_fd()).map_err(fault)?;
        sync(old.folder.as_fd()).map_err(fault)
    }

    /// Sets or clears the right to execute a file, for all who may read it.
    pub fn set_executable(&self, path: &str, executable: bool) -> Result<()> {
        let place = self.write_target(path, Parents::MustExist, Links::Follow)?;
        must_be_there(path, &place)?;
        let file = File::from(
            openat(
                &place.folder,
                &place.name,
                OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
                Mode::empty(),
            )
            .map_err(|errno| PathError::from_errno(path, errno))?,
        );
        let stat = fstat(&file).map_err(|errno| PathError::from_errno(path, errno))?;
        must_be_file(path, Some(&stat))?;
        if stat.st_nlink > 1 {
            return Err(PathError::refused(
                path,
                "it has other names, which may lie outside",
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

/// A file under a name of its own, gone again unless it was put in its place.
struct TempFile<'a> {
    folder: BorrowedFd<'a>,
    name: String,
    file: File,
    is_placed: bool,
}

impl<'a> TempFile<'a> {
    fn make(path: &str, place: &'a WriteTarget) -> Result<Self> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A new file gets what the user's mask leaves; one that replaces another is nobody's till then.
        let mode = Mode::from_raw_mode(if place.found.is_some() { 0o600 } else { 0o666 });
        for _ in 0..MAX_RETRIES {
            let name = format!("{TEMP_PREFIX}{}", uuid::Uuid::new_v4().simple());
            match openat(&place.folder, &name, flags, mode) {
                Ok(file) => {
                    return Ok(Self {
                        folder: place.folder.as_fd(),
                        name,
                        file: file.into(),
                        is_placed: false,
                    });
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(PathError::from_errno(path, errno)),
            }
        }
        Err(PathError::from_errno(path, Errno::EXIST))
    }

    fn fill(&self, path: &str, content: &[u8], replaced: Option<&Stat>) -> Result<()> {
        let fault = |errno| PathError::from_errno(path, errno);
        (&self.file)
            .write_all(content)
            .map_err(|error| PathError::io(path, error))?;
        if let Some(old) = replaced {
            let own = fstat(&self.file).map_err(fault)?;
            if (own.st_uid, own.st_gid) != (old.st_uid, old.st_gid) {
                // Only root can keep another's file another's; for everybody else it becomes theirs.
                let owner = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
                let _ = fchown(&self.file, Some(owner.0), Some(owner.1));
            }
            fchmod(&self.file, Mode::from_raw_mode(old.st_mode & 0o777)).map_err(fault)?;
        }
        fsync(&self.file).map_err(fault)
    }

    fn put(mut self, path: &str, place: &WriteTarget) -> Result<()> {
        // Should the name have become a link meanwhile, the link is replaced and not followed.
        renameat(self.folder, &self.name, &place.folder, &place.name)
            .map_err(|errno| PathError::from_errno(path, errno))?;
        self.is_placed = true;
        sync(self.folder).map_err(|errno| PathError::from_errno(path, errno))
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if !self.is_placed {
            // Nothing more can be done about it; the name says what it is.
            let _ = unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

fn must_be_file(path: &str, found: Option<&Stat>) -> Result<()> {
    match found.map(PathKind::from_stat) {
        None | Some(PathKind::File) => Ok(()),
        Some(other) => Err(PathError::wrong_kind(path, other, PathKind::File)),
    }
}

fn must_be_there(path: &str, place: &WriteTarget) -> Result<()> {
    match place.found.as_ref().map(PathKind::from_stat) {
        None => Err(PathError::NotFound {
            path: path.to_owned(),
        }),
        Some(PathKind::File | PathKind::Link) => Ok(()),
        Some(other) => Err(PathError::wrong_kind(path, other, PathKind::File)),
    }
}

/// Brings a folder's names to the disk.
fn sync(folder: BorrowedFd<'_>) -> Result<(), Errno> {
    match reopen(folder, OFlags::RDONLY | OFlags::DIRECTORY).and_then(fsync) {
        // A folder that may be written but not read, or a file system without this.
        Err(Errno::ACCESS | Errno::INVAL | Errno::ROFS) => Ok(()),
        other => other,
    }
}
