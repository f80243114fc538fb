//! Private files: readable and writable only by the user, in a directory that only the user can access.
//!
//! Symbolic links, which another user may have created, are not followed. The modes do not depend on the umask.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{Error, Result};

/// Maximum size of a private file.
const MAX_BYTES: u64 = 4 << 20;

/// A private directory, locked against other writers while this value exists.
pub(crate) struct PrivateDir {
    path: PathBuf,
    lock: File,
}

impl PrivateDir {
    /// Creates the directory if it does not exist, makes it private, and waits for its lock.
    pub(crate) fn lock(path: &Path) -> Result<Self> {
        let unusable = |error| Error::file(path, format!("cannot be used: {error}"));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(unusable)?;
        let dir = OpenOptions::new()
            .read(true)
            .custom_flags(flags(OFlags::NOFOLLOW | OFlags::DIRECTORY))
            .open(path)
            .map_err(|error| open_error(path, &error))?;
        let metadata = dir.metadata().map_err(unusable)?;
        ensure_owner(path, metadata.uid())?;
        if metadata.mode() & 0o777 != 0o700 {
            dir.set_permissions(Permissions::from_mode(0o700))
                .map_err(unusable)?;
        }
        dir.lock().map_err(unusable)?;
        Ok(Self {
            path: path.to_owned(),
            lock: dir,
        })
    }

    /// Replaces a file atomically: a reader sees the old content or the new, never a part.
    pub(crate) fn replace(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path.join(name);
        let unwritable = |error| Error::file(&path, format!("cannot be written: {error}"));
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(&self.path)
            .map_err(unwritable)?;
        file.write_all(text.as_bytes()).map_err(unwritable)?;
        file.as_file().sync_all().map_err(unwritable)?;
        file.persist(&path)
            .map_err(|error| unwritable(error.error))?;
        self.lock.sync_all().map_err(unwritable)
    }
}

/// Reads a private file if it exists; returns an error if other users can write it.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    let problem = "other users can write it: delete it and run windlass trust again";
    read_checked(path, 0o022, problem)
}

/// Reads a secret if it exists; returns an error if other users can read or write it.
pub(crate) fn read_secret(path: &Path) -> Result<Option<String>> {
    let problem = "other users can read or write it: delete it, and a new one is generated";
    read_checked(path, 0o077, problem)
}

fn read_checked(path: &Path, forbidden_bits: u32, problem: &str) -> Result<Option<String>> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK))
        .open(path);
    let file = match file {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|error| open_error(path, &error))?,
    };
    let unreadable = |error| Error::file(path, format!("cannot be read: {error}"));
    let metadata = file.metadata().map_err(unreadable)?;
    ensure_owner(path, metadata.uid())?;
    if !metadata.is_file() {
        return Err(Error::file(path, "is not a regular file: remove it"));
    }
    if metadata.mode() & forbidden_bits != 0 {
        return Err(Error::file(path, problem));
    }
    let mut text = String::new();
    let read = file.take(MAX_BYTES).read_to_string(&mut text);
    read.map_err(unreadable)?;
    Ok(Some(text))
}

fn ensure_owner(path: &Path, owner: u32) -> Result<()> {
    if owner == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    let problem = format!("belongs to user {owner}, not to you: it is not used");
    Err(Error::file(path, problem))
}

/// Converts an error of opening a path that must not be a symbolic link.
fn open_error(path: &Path, error: &std::io::Error) -> Error {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => Error::file(
            path,
            "is a symbolic link, which is not followed here: remove it",
        ),
        _ => Error::file(path, format!("cannot be opened: {error}")),
    }
}

fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}
