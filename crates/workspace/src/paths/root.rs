//! The folder that nothing leads out of.

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

/// How often a path is tried again while folders are renamed or mounted.
///
/// Any rename or mount on the machine counts for the kernel, and a busy machine has many. The first retries
/// follow at once; without a pause, all of them would be used up in a few milliseconds.
const MAX_RETRIES: u32 = 2000;
const RETRIES_WITHOUT_PAUSE: u32 = 32;
const RETRY_PAUSE: Duration = Duration::from_millis(1);

/// A folder, and the right to use what lies beneath it. Clones share the folder.
///
/// It is the folder that was there when it was opened: putting another in its place changes nothing.
#[derive(Debug, Clone)]
pub struct Root {
    folder: Arc<OwnedFd>,
    path: PathBuf,
}

impl Root {
    /// Takes hold of a folder. This one path is the caller's own and is trusted.
    pub fn open(folder: &Path) -> Result<Self> {
        let shown = folder.display().to_string();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let found = open(folder, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::NOTDIR => PathError::wrong_kind(&shown, PathKind::File, PathKind::Folder),
            other => PathError::from_errno(&shown, other),
        })?;
        let path = path_of(found.as_fd(), &shown)?;
        let root = Self {
            folder: Arc::new(found),
            path,
        };
        // A kernel that cannot resolve beneath is found out now, not at the first path.
        root.resolve(".", OFlags::PATH)?;
        Ok(root)
    }

    /// Where the folder was when it was opened, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What lies at this path; links inside the folder are followed.
    pub fn metadata(&self, path: &str) -> Result<Metadata> {
        validate::check(path)?;
        let found = self.resolve(path, OFlags::PATH)?;
        let stat = fstat(&found).map_err(|errno| PathError::from_errno(path, errno))?;
        Ok(Metadata::of(&stat))
    }

    /// Whether anything lies at this path. A path that leads out is an error.
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
        let found = self.resolve(path, OFlags::PATH)?;
        let stat = fstat(&found).map_err(|errno| PathError::from_errno(path, errno))?;
        match PathKind::from_stat(&stat) {
            PathKind::File => {}
            other => return Err(PathError::wrong_kind(path, other, PathKind::File)),
        }
        // The very file that was looked at, whatever its name leads to by now.
        reopen(found.as_fd(), OFlags::RDONLY)
            .map_err(|errno| PathError::from_errno(path, errno))
            .map(File::from)
    }

    /// The whole content of a regular file of at most so many bytes.
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

    /// Opens what lies beneath the folder at this path, which was checked before.
    pub(super) fn resolve(&self, path: &str, flags: OFlags) -> Result<OwnedFd> {
        self.open_with(path, flags, ResolveFlags::empty())
            .map_err(|errno| PathError::from_errno(path, errno))
    }

    /// The same, with rules of its own and the kernel's own answer.
    pub(super) fn open_with(
        &self,
        path: &str,
        flags: OFlags,
        more: ResolveFlags,
    ) -> Result<OwnedFd, Errno> {
        let rules = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | more;
        let flags = flags | OFlags::CLOEXEC;
        let mut retries = 0;
        loop {
            match openat2(&*self.folder, path, flags, Mode::empty(), rules) {
                // Something was renamed under way, and the kernel will not vouch for the answer.
                Err(Errno::AGAIN) if retries < MAX_RETRIES => {
                    retries += 1;
                    if retries > RETRIES_WITHOUT_PAUSE {
                        std::thread::sleep(RETRY_PAUSE);
                    }
                }
                answer => return answer,
            }
        }
    }

    /// Where something opened beneath the folder really lies, as parts from the folder down.
    pub(super) fn real_path_parts(&self, found: BorrowedFd<'_>, path: &str) -> Result<Vec<String>> {
        let own = path_of(self.folder.as_fd(), path)?;
        let real = path_of(found, path)?;
        let beneath = real
            .strip_prefix(&own)
            .map_err(|_| PathError::escape(path, "it was moved out of the folder"))?;
        beneath
            .iter()
            .map(|part| part.to_str().map(str::to_owned))
            .collect::<Option<Vec<String>>>()
            .ok_or_else(|| PathError::refused(path, "a folder's name is not UTF-8"))
    }
}

/// Opens again what is held already, in another way.
pub(super) fn reopen(found: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd, Errno> {
    let own = format!("/proc/self/fd/{}", found.as_raw_fd());
    rustix::fs::openat(
        CWD,
        own,
        flags | OFlags::CLOEXEC | OFlags::NOCTTY,
        Mode::empty(),
    )
}

/// The path by which the kernel knows what is held.
fn path_of(found: BorrowedFd<'_>, shown: &str) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let own = format!("/proc/self/fd/{}", found.as_raw_fd());
    let target =
        rustix::fs::readlinkat(CWD, own, Vec::new()).map_err(|errno| PathError::System {
            path: format!("/proc, asked where {shown} lies"),
            source: errno.into(),
        })?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(
        target.into_bytes(),
    )))
}
