//! The file itself: private, no link, and never made over something that is there.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use windlass_core::task::{StoreError, StoreResult};

use crate::error::damaged;

/// What may be done with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileAccess {
    Write,
    /// Only read; and whether there is a log beside it that must be read too.
    Read {
        log: bool,
    },
}

/// How every SQLite file begins.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Makes the file where there is none, for its owner alone, and says what may be done with it.
pub(super) fn prepare(path: &Path) -> StoreResult<FileAccess> {
    let sorry = |doing: &str, error: std::io::Error| {
        let path = path.display();
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full(format!(
                "no room left for {path}: free some, then try again"
            )),
            _ => StoreError::Unavailable(format!("{path} cannot be {doing}: {error}")),
        }
    };
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| sorry("made", error))?;
    }
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Ok(_) => {
            // That there is such a file must survive the loss of power, too.
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            let folder = std::fs::File::open(folder.unwrap_or(Path::new(".")));
            folder
                .and_then(|folder| folder.sync_all())
                .map_err(|error| sorry("made", error))?;
            return Ok(FileAccess::Write);
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(sorry("made", error)),
    }

    let found = std::fs::symlink_metadata(path).map_err(|error| sorry("read", error))?;
    if !found.is_file() {
        return Err(StoreError::Unavailable(format!(
            "{} is not a plain file: name the file itself",
            path.display()
        )));
    }
    check_header(path).map_err(|error| sorry("read", error))??;
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => {
            if found.permissions().mode() & 0o077 != 0 {
                // What others may read now they could read before; where it cannot be changed it stays.
                let _ = file.set_permissions(Permissions::from_mode(0o600));
            }
            Ok(FileAccess::Write)
        }
        Err(error) if is_read_only(error.kind()) => Ok(FileAccess::Read { log: has_wal(path) }),
        Err(error) => Err(sorry("opened", error)),
    }
}

fn is_read_only(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
    )
}

/// Whether it begins as it should. SQLite would take a very short file for an empty one and write over it.
fn check_header(path: &Path) -> std::io::Result<StoreResult<()>> {
    let mut start = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    if start.is_empty() || start == MAGIC {
        return Ok(Ok(()));
    }
    let path = path.display().to_string();
    Ok(Err(damaged(&path, "it does not begin like a database")))
}

fn has_wal(path: &Path) -> bool {
    std::fs::metadata(wal_path(path)).is_ok_and(|log| log.len() > 0)
}

/// Where SQLite keeps the log of this file.
pub(super) fn wal_path(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::{FileAccess, prepare};

    fn mode(path: &std::path::Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn p27_the_file_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/windlass.db");
        assert_eq!(prepare(&path), Ok(FileAccess::Write));
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);

        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(prepare(&path), Ok(FileAccess::Write));
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn p27_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        let path = folder.path().join("windlass.db");
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        let error = prepare(&path).unwrap_err().to_string();
        assert!(error.contains("not a plain file"), "{error}");
        assert!(!elsewhere.exists());
    }

    #[test]
    fn what_is_no_database_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("windlass.db");
        std::fs::write(&path, "a letter").unwrap();
        let error = prepare(&path).unwrap_err().to_string();
        assert!(error.contains("damaged"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"a letter");
    }
}
