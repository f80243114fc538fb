//! Targets of writes: an open directory and a name in it.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat, mkdirat, statat};
use rustix::io::Errno;

use super::error::{PathError, Result};
use super::kind::PathKind;
use super::root::Root;
use super::validate;

/// Opens a directory without the permission to read it.
const DIR_FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// Whether missing parent directories are created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parents {
    Create,
    MustExist,
}

/// Whether a link at the end is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    Follow,
    NoFollow,
}

/// A name in an open directory. Nothing can be inserted between the two.
#[derive(Debug)]
pub(super) struct WriteTarget {
    pub(super) dir: OwnedFd,
    pub(super) name: String,
    /// The current metadata of the name, if it exists.
    pub(super) found: Option<Stat>,
}

impl Root {
    /// Finds the target of a path to change, and rejects protected paths.
    pub(super) fn write_target(
        &self,
        path: &str,
        parents: Parents,
        links: Links,
    ) -> Result<WriteTarget> {
        validate::check(path)?;
        let (parent_path, last) = split(path)?;
        if parents == Parents::Create {
            self.create_parents(path, parent_path)?;
        }
        let dir = self
            .open_with(parent_path, DIR_FLAGS, ResolveFlags::empty())
            .map_err(|errno| PathError::from_errno(path, errno))?;
        let target = self.resolve_target(path, dir, last)?;
        let is_link = target
            .found
            .is_some_and(|stat| PathKind::from_stat(&stat) == PathKind::Link);
        if is_link && links == Links::Follow {
            return self.resolve_link(path);
        }
        Ok(target)
    }

    /// Returns the target of a link inside the directory.
    fn resolve_link(&self, path: &str) -> Result<WriteTarget> {
        let target = self
            .resolve(path, OFlags::PATH)
            .map_err(|error| match error {
                PathError::NotFound { path } => PathError::Refused {
                    path,
                    why: "it is a dangling link: delete it first, or write to its target",
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
        let parent_path = if parts.is_empty() {
            ".".to_owned()
        } else {
            parts.join("/")
        };
        let changed = || PathError::refused(path, "it changed during the operation: try again");
        let dir = self
            .open_with(&parent_path, DIR_FLAGS, ResolveFlags::NO_SYMLINKS)
            .map_err(|_| changed())?;
        let resolved = self.resolve_target(path, dir, &last)?;
        match resolved.found {
            Some(stat) if PathKind::from_stat(&stat) != PathKind::Link => Ok(resolved),
            _ => Err(changed()),
        }
    }

    fn resolve_target(&self, path: &str, dir: OwnedFd, last: &str) -> Result<WriteTarget> {
        let parts = self.real_path_parts(dir.as_fd(), path)?;
        let real: Vec<&str> = parts.iter().map(String::as_str).chain([last]).collect();
        validate::check_write(path, &real)?;
        let found = match statat(&dir, last, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(PathError::from_errno(path, errno)),
        };
        Ok(WriteTarget {
            dir,
            name: last.to_owned(),
            found,
        })
    }

    /// Creates the missing directories of `parent_path`, each in an open directory.
    fn create_parents(&self, path: &str, parent_path: &str) -> Result<()> {
        let open_dir = |part: &str| self.open_with(part, DIR_FLAGS, ResolveFlags::empty());
        let to_error = |errno| match errno {
            Errno::NOENT | Errno::NOTDIR => {
                PathError::refused(path, "a parent of the path is not a directory")
            }
            other => PathError::from_errno(path, other),
        };
        // Usually there is nothing to create.
        match open_dir(parent_path) {
            Err(Errno::NOENT) => {}
            other => return other.map(drop).map_err(to_error),
        }
        let ends = parent_path
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([parent_path.len()]);
        let mut parent = open_dir(".").map_err(to_error)?;
        let mut start = 0;
        for end in ends {
            let part = &parent_path[start..end];
            start = end + 1;
            if part.is_empty() {
                continue;
            }
            if part != "." && part != ".." {
                self.create_dir(path, &parent, part)?;
            }
            parent = open_dir(&parent_path[..end]).map_err(to_error)?;
        }
        Ok(())
    }

    fn create_dir(&self, path: &str, parent: &OwnedFd, part: &str) -> Result<()> {
        let parts = self.real_path_parts(parent.as_fd(), path)?;
        let real: Vec<&str> = parts.iter().map(String::as_str).chain([part]).collect();
        validate::check_write(path, &real)?;
        match mkdirat(parent, part, Mode::from_raw_mode(0o777)) {
            // An existing path may be a directory or a link to one: opening it decides.
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(PathError::from_errno(path, errno)),
        }
    }
}

/// Splits a path into its parent and its last part.
fn split(path: &str) -> Result<(&str, &str)> {
    let (parent_path, last) = path.rsplit_once('/').unwrap_or((".", path));
    match last {
        "" | "." | ".." => Err(PathError::wrong_kind(
            path,
            PathKind::Folder,
            PathKind::File,
        )),
        _ => Ok((parent_path, last)),
    }
}
