//! Files that only the user can read or write, in a folder that only the user can enter.
//!
//! Nothing here follows a symbolic link that somebody else may have planted, and nothing depends on the umask.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{Error, Result};

/// The largest private file that is read.
const MAX_BYTES: u64 = 4 << 20;

/// A private folder, locked against other writers for as long as this value lives.
pub(crate) struct PrivateDir {
    path: PathBuf,
    lock: File,
}

impl PrivateDir {
    /// Makes the folder if it is not there, makes it private if it is not, and waits for its lock.
    pub(crate) fn lock(path: &Path) -> Result<Self> {
        let unusable = |error| Error::file(path, format!("cannot be used: {error}"));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(unusable)?;
        let folder = OpenOptions::new()
            .read(true)
            .custom_flags(flags(OFlags::NOFOLLOW | OFlags::DIRECTORY))
            .open(path)
            .map_err(|error| not_followed(path, &error))?;
        let about = folder.metadata().map_err(unusable)?;
        ensure_owner(path, about.uid())?;
        if about.mode() & 0o777 != 0o700 {
            folder
                .set_permissions(Permissions::from_mode(0o700))
                .map_err(unusable)?;
        }
        folder.lock().map_err(unusable)?;
        Ok(Self {
            path: path.to_owned(),
            lock: folder,
        })
    }

    /// Replaces a file as a whole: a reader sees the old content or the new, never a part.
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

/// Reads a private file if there is one; refuses what others could have written.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    let problem = "others can write it, so it proves nothing: remove it and trust anew";
    read_checked(path, 0o022, problem)
}

/// Reads a secret if there is one; refuses what others could have written or read.
pub(crate) fn read_secret(path: &Path) -> Result<Option<String>> {
    let problem =
        "others can read or write it, so it is no secret: remove it, and a new one is made";
    read_checked(path, 0o077, problem)
}

fn read_checked(path: &Path, open: u32, problem: &str) -> Result<Option<String>> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK))
        .open(path);
    let file = match file {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|error| not_followed(path, &error))?,
    };
    let unreadable = |error| Error::file(path, format!("cannot be read: {error}"));
    let about = file.metadata().map_err(unreadable)?;
    ensure_owner(path, about.uid())?;
    if !about.is_file() {
        return Err(Error::file(path, "is not a regular file: remove it"));
    }
    if about.mode() & open != 0 {
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

/// The error of opening something that must not be a link.
fn not_followed(path: &Path, error: &std::io::Error) -> Error {
    match path.symlink_metadata() {
        Ok(about) if about.is_symlink() => Error::file(
            path,
            "is a symbolic link, which is not followed here: remove it",
        ),
        _ => Error::file(path, format!("cannot be opened: {error}")),
    }
}

fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}
