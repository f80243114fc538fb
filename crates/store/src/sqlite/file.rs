//! The database file: private, not a symbolic link, and never created over an existing file.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use windlass_tasks::{StoreError, StoreResult};

use crate::error::damaged;

/// Access to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileAccess {
    Write,
    /// The file is read-only. `wal` is `true` if there is a write-ahead log that must be read too.
    Read {
        wal: bool,
    },
}

/// Header of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Creates the file for its owner only if it does not exist, and returns the possible access.
pub(super) fn prepare(path: &Path) -> StoreResult<FileAccess> {
    let failed = |doing: &str, error: std::io::Error| {
        let path = path.display();
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full(format!(
                "no space left for {path}: free some space, then try again"
            )),
            _ => StoreError::Unavailable(format!("{path} cannot be {doing}: {error}")),
        }
    };
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|error| failed("created", error))?;
    }
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Ok(_) => {
            // The directory entry must survive power loss too.
            let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
            let dir = std::fs::File::open(dir.unwrap_or(Path::new(".")));
            dir.and_then(|dir| dir.sync_all())
                .map_err(|error| failed("created", error))?;
            return Ok(FileAccess::Write);
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed("created", error)),
    }

    let found = std::fs::symlink_metadata(path).map_err(|error| failed("read", error))?;
    if !found.is_file() {
        return Err(StoreError::Unavailable(format!(
            "{} is not a regular file: give the path of the file itself",
            path.display()
        )));
    }
    check_header(path).map_err(|error| failed("read", error))??;
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => {
            if found.permissions().mode() & 0o077 != 0 {
                // Others could read the file before. If the permissions cannot be changed, they stay.
                let _ = file.set_permissions(Permissions::from_mode(0o600));
            }
            Ok(FileAccess::Write)
        }
        Err(error) if is_read_only(error.kind()) => Ok(FileAccess::Read { wal: has_wal(path) }),
        Err(error) => Err(failed("opened", error)),
    }
}

fn is_read_only(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
    )
}

/// Checks the header of the file. SQLite would treat a very short file as empty and overwrite it.
fn check_header(path: &Path) -> std::io::Result<StoreResult<()>> {
    let mut start = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    if start.is_empty() || start == MAGIC {
        return Ok(Ok(()));
    }
    let path = path.display().to_string();
    Ok(Err(damaged(&path, "it has no SQLite header")))
}

fn has_wal(path: &Path) -> bool {
    std::fs::metadata(wal_path(path)).is_ok_and(|wal| wal.len() > 0)
}

/// Returns the path of the file's write-ahead log.
pub(super) fn wal_path(path: &Path) -> PathBuf {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    wal.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::{FileAccess, prepare};

    fn mode(path: &std::path::Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn p27_file_is_private_to_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/windlass.db");
        assert_eq!(prepare(&path), Ok(FileAccess::Write));
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);

        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(prepare(&path), Ok(FileAccess::Write));
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn p27_symlink_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        let path = dir.path().join("windlass.db");
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        let error = prepare(&path).unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
        assert!(!elsewhere.exists());
    }

    #[test]
    fn foreign_file_is_not_modified() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("windlass.db");
        std::fs::write(&path, "a letter").unwrap();
        let error = prepare(&path).unwrap_err().to_string();
        assert!(error.contains("damaged"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"a letter");
    }
}
