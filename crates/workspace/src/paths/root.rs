//! A directory that no path can leave.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, open, openat2};
use rustix::io::Errno;

use super::error::{PathError, Result};
use super::kind::{Metadata, PathKind};
use super::validate;

/// How often to retry a path while directories are renamed or mounted.
///
/// For the kernel, any rename or mount on the machine counts, and a busy machine has many. The
/// first retries follow immediately; without a delay, all of them would be spent in a few
/// milliseconds.
const MAX_RETRIES: u32 = 2000;
const RETRIES_WITHOUT_DELAY: u32 = 32;
const RETRY_DELAY: Duration = Duration::from_millis(1);

/// A directory, and the permission to use what is under it. Clones share the directory.
///
/// It always refers to the directory that was opened, even if another one replaces it at its path.
#[derive(Debug, Clone)]
pub struct Root {
    dir: Arc<OwnedFd>,
    path: PathBuf,
}

impl Root {
    /// Opens a directory. This path comes from the caller and is trusted.
    pub fn open(dir: &Path) -> Result<Self> {
        let name = dir.display().to_string();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = open(dir, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::NOTDIR => PathError::wrong_kind(&name, PathKind::File, PathKind::Folder),
            other => PathError::from_errno(&name, other),
        })?;
        let path = path_of(fd.as_fd(), &name)?;
        let root = Self {
            dir: Arc::new(fd),
            path,
        };
        // Detects a kernel without `RESOLVE_BENEATH` now, not at the first path.
        root.resolve(".", OFlags::PATH)?;
        Ok(root)
    }

    /// Returns the path of the directory when it was opened, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the metadata of a path; links inside the directory are followed.
    pub fn metadata(&self, path: &str) -> Result<Metadata> {
        validate::check(path)?;
        let fd = self.resolve(path, OFlags::PATH)?;
        let stat = fstat(&fd).map_err(|errno| PathError::from_errno(path, errno))?;
        Ok(Metadata::from_stat(&stat))
    }

    /// Returns `true` if the path exists. A path that leads out is an error.
    pub fn exists(&self, path: &str) -> Result<bool> {
        match self.metadata(path) {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens a regular file for reading. Pipes, sockets and devices are not opened at all.
    pub fn open_file(&self, path: &str) -> Result<File> {
        validate::check(path)?;
        let fd = self.resolve(path, OFlags::PATH)?;
        let stat = fstat(&fd).map_err(|errno| PathError::from_errno(path, errno))?;
        match PathKind::from_stat(&stat) {
            PathKind::File => {}
            other => return Err(PathError::wrong_kind(path, other, PathKind::File)),
        }
        // Opens the file that was checked, even if its name refers to another file by now.
        reopen(fd.as_fd(), OFlags::RDONLY)
            .map_err(|errno| PathError::from_errno(path, errno))
            .map(File::from)
    }

    /// Reads a regular file of at most `limit` bytes.
    pub fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>> {
        let file = self.open_file(path)?;
        let size = file
            .metadata()
            .map_err(|error| PathError::io(path, error))?
            .len();
        let too_large = || PathError::TooLarge {
            path: path.to_owned(),
            limit,
        };
        if size > limit {
            return Err(too_large());
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.take(limit.saturating_add(1))
            .read_to_end(&mut content)
            .map_err(|error| PathError::io(path, error))?;
        if content.len() as u64 > limit {
            return Err(too_large());
        }
        Ok(content)
    }

    /// Opens a path under the directory, which was validated before.
    pub(super) fn resolve(&self, path: &str, flags: OFlags) -> Result<OwnedFd> {
        self.open_with(path, flags, ResolveFlags::empty())
            .map_err(|errno| PathError::from_errno(path, errno))
    }

    /// Like [`resolve`](Self::resolve), with additional flags and the kernel's own error.
    pub(super) fn open_with(
        &self,
        path: &str,
        flags: OFlags,
        extra: ResolveFlags,
    ) -> Result<OwnedFd, Errno> {
        let rules = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | extra;
        let flags = flags | OFlags::CLOEXEC;
        let mut retries = 0;
        loop {
            match openat2(&*self.dir, path, flags, Mode::empty(), rules) {
                // A concurrent rename: the kernel cannot guarantee the result.
                Err(Errno::AGAIN) if retries < MAX_RETRIES => {
                    retries += 1;
                    if retries > RETRIES_WITHOUT_DELAY {
                        std::thread::sleep(RETRY_DELAY);
                    }
                }
                result => return result,
            }
        }
    }

    /// Returns the real path of an open file, as parts relative to the directory.
    pub(super) fn real_path_parts(&self, fd: BorrowedFd<'_>, path: &str) -> Result<Vec<String>> {
        let root = path_of(self.dir.as_fd(), path)?;
        let real = path_of(fd, path)?;
        let relative = real
            .strip_prefix(&root)
            .map_err(|_| PathError::escape(path, "it was moved out of the directory"))?;
        relative
            .iter()
            .map(|part| part.to_str().map(str::to_owned))
            .collect::<Option<Vec<String>>>()
            .ok_or_else(|| PathError::refused(path, "a directory name is not UTF-8"))
    }
}

/// Opens an open file again, with other flags.
pub(super) fn reopen(fd: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd, Errno> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    rustix::fs::openat(
        CWD,
        link,
        flags | OFlags::CLOEXEC | OFlags::NOCTTY,
        Mode::empty(),
    )
}

/// Returns the path by which the kernel knows an open file.
fn path_of(fd: BorrowedFd<'_>, name: &str) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let target =
        rustix::fs::readlinkat(CWD, link, Vec::new()).map_err(|errno| PathError::System {
            path: format!("/proc entry of {name}"),
            source: errno.into(),
        })?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(
        target.into_bytes(),
    )))
}
