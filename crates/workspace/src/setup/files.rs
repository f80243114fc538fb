//! Moves and copies files.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};

use crate::error::{Error, Result};

/// Moves a file or directory, also to another file system.
pub(super) fn move_to(from: &Path, to: &Path) -> Result<()> {
    create_parent(to)?;
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        result => return result.map_err(|error| Error::io(to, &error)),
    }
    copy_tree(from, to)?;
    let removed = if from.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        fs::remove_dir_all(from)
    } else {
        fs::remove_file(from)
    };
    removed.map_err(|error| Error::io(from, &error))
}

/// Copies a file, a link or a directory with its content. Links are copied as they are.
pub(super) fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    let found = from
        .symlink_metadata()
        .map_err(|error| Error::io(from, &error))?;
    if found.is_symlink() {
        let target = fs::read_link(from).map_err(|error| Error::io(from, &error))?;
        symlink(target, to).map_err(|error| Error::io(to, &error))
    } else if found.is_dir() {
        create_dir(to)?;
        for entry in fs::read_dir(from).map_err(|error| Error::io(from, &error))? {
            let entry = entry.map_err(|error| Error::io(from, &error))?;
            copy_tree(&entry.path(), &to.join(entry.file_name()))?;
        }
        Ok(())
    } else if found.is_file() {
        copy_file(from, to)
    } else {
        // A socket or a device: of no use in another checkout.
        Ok(())
    }
}

/// Copies a regular file with its mode and its time of modification, which build tools compare.
/// Shares the blocks where the file system can.
pub(super) fn copy_file(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map_err(|error| Error::io(to, &error))?;
    let found = from.metadata().map_err(|error| Error::io(from, &error))?;
    let modified = Timespec {
        tv_sec: found.mtime(),
        tv_nsec: found.mtime_nsec(),
    };
    let times = Timestamps {
        last_access: modified,
        last_modification: modified,
    };
    rustix::fs::utimensat(CWD, to, &times, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|error| Error::io(to, &error.into()))
}

/// Gives every file below its own content: a file with a second name elsewhere could be changed
/// through that name.
pub(super) fn break_hard_links(root: &Path) -> Result<()> {
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).map_err(|error| Error::io(&dir, &error))? {
            let entry = entry.map_err(|error| Error::io(&dir, &error))?;
            let path = entry.path();
            let found = entry.metadata().map_err(|error| Error::io(&path, &error))?;
            if found.is_dir() {
                pending.push(path);
            } else if found.is_file() && found.nlink() > 1 {
                let copy = tempfile::Builder::new().make_in(&dir, |copy| {
                    copy_file(&path, copy).map_err(io::Error::other)
                });
                let copy = copy.map_err(|error| Error::io(&dir, &error))?;
                let renamed = copy.persist(&path).map_err(|error| error.error);
                renamed.map_err(|error| Error::io(&path, &error))?;
            }
        }
    }
    Ok(())
}

pub(super) fn create_dir(path: &Path) -> Result<()> {
    fs::create_dir(path).map_err(|error| Error::io(path, &error))
}

pub(super) fn create_parent(path: &Path) -> Result<()> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|error| Error::io(parent, &error))
}
