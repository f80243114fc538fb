//! Where a name is to be written: the folder held, the last part apart.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat, mkdirat, statat};
use rustix::io::Errno;

use super::error::{PathError, Result};
use super::kind::PathKind;
use super::root::Root;
use super::validate;

/// Holding a folder, without the right to read it.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// Whether missing folders on the way are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parents {
    Create,
    MustExist,
}

/// Whether a link at the end stands for what it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    Follow,
    NoFollow,
}

/// A name in a folder that is held open. Nothing can be put between the two.
#[derive(Debug)]
pub(super) struct WriteTarget {
    pub(super) folder: OwnedFd,
    pub(super) name: String,
    /// What the name stands for now.
    pub(super) found: Option<Stat>,
}

impl Root {
    /// Finds the place of a path that is to be changed, and refuses the ones that nobody may change.
    pub(super) fn write_target(
        &self,
        path: &str,
        parents: Parents,
        links: Links,
    ) -> Result<WriteTarget> {
        validate::check(path)?;
        let (above, last) = split(path)?;
        if parents == Parents::Create {
            self.make_folders(path, above)?;
        }
        let folder = self
            .open_with(above, FOLDER, ResolveFlags::empty())
            .map_err(|errno| PathError::from_errno(path, errno))?;
        let place = self.resolve_target(path, folder, last)?;
        let is_link = place
            .found
            .is_some_and(|stat| PathKind::from_stat(&stat) == PathKind::Link);
        if is_link && links == Links::Follow {
            return self.resolve_link(path);
        }
        Ok(place)
    }

    /// The place of what a link inside the folder leads to.
    fn resolve_link(&self, path: &str) -> Result<WriteTarget> {
        let target = self
            .resolve(path, OFlags::PATH)
            .map_err(|error| match error {
                PathError::NotFound { path } => PathError::Refused {
                    path,
                    why: "it is a link to nothing: delete it first, or write what it names",
                },
                other => other,
            })?;
        let mut parts = self.real_path_parts(target.as_fd(), path)?;
        let last = parts.pop().unwrap_or_else(|| ".".to_owned());
        if last == "." {
            return Err(PathError::wrong_kind(
                path,
                PathKind::Folder,
                PathKind::File,
            ));
        }
        let above = if parts.is_empty() {
            ".".to_owned()
        } else {
            parts.join("/")
        };
        let changed =
            || PathError::refused(path, "it was changed while it was looked at: try again");
        let folder = self
            .open_with(&above, FOLDER, ResolveFlags::NO_SYMLINKS)
            .map_err(|_| changed())?;
        let place = self.resolve_target(path, folder, &last)?;
        match place.found {
            Some(stat) if PathKind::from_stat(&stat) != PathKind::Link => Ok(place),
            _ => Err(changed()),
        }
    }

    fn resolve_target(&self, path: &str, folder: OwnedFd, last: &str) -> Result<WriteTarget> {
        let parts = self.real_path_parts(folder.as_fd(), path)?;
        let real: Vec<&str> = parts.iter().map(String::as_str).chain([last]).collect();
        validate::check_write(path, &real)?;
        let found = match statat(&folder, last, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(PathError::from_errno(path, errno)),
        };
        Ok(WriteTarget {
            folder,
            name: last.to_owned(),
            found,
        })
    }

    /// Makes the folders of `above` that are missing, each in a folder that is held open.
    fn make_folders(&self, path: &str, above: &str) -> Result<()> {
        let look = |part: &str| self.open_with(part, FOLDER, ResolveFlags::empty());
        let fault = |errno| match errno {
            Errno::NOENT | Errno::NOTDIR => {
                PathError::refused(path, "something stands where a folder is needed")
            }
            other => PathError::from_errno(path, other),
        };
        // Most often there is nothing to make.
        match look(above) {
            Err(Errno::NOENT) => {}
            other => return other.map(drop).map_err(fault),
        }
        let ends = above
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([above.len()]);
        let mut held = look(".").map_err(fault)?;
        let mut start = 0;
        for end in ends {
            let part = &above[start..end];
            start = end + 1;
            if part.is_empty() {
                continue;
            }
            if part != "." && part != ".." {
                self.make_folder(path, &held, part)?;
            }
            held = look(&above[..end]).map_err(fault)?;
        }
        Ok(())
    }

    fn make_folder(&self, path: &str, held: &OwnedFd, part: &str) -> Result<()> {
        let parts = self.real_path_parts(held.as_fd(), path)?;
        let real: Vec<&str> = parts.iter().map(String::as_str).chain([part]).collect();
        validate::check_write(path, &real)?;
        match mkdirat(held, part, Mode::from_raw_mode(0o777)) {
            // What is there may be a folder or a link to one: the next look decides.
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(PathError::from_errno(path, errno)),
        }
    }
}

/// The folder part and the last part of a path.
fn split(path: &str) -> Result<(&str, &str)> {
    let (above, last) = path.rsplit_once('/').unwrap_or((".", path));
    match last {
        "" | "." | ".." => Err(PathError::wrong_kind(
            path,
            PathKind::Folder,
            PathKind::File,
        )),
        _ => Ok((above, last)),
    }
}
