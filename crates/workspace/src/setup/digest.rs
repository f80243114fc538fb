//! Detects changes of stored files without reading them.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// The state of a tree of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeState {
    /// A hash of the names, sizes, modes and times of all files. The time of the last change is
    /// among them, which no program can set: every change of content or mode changes the hash.
    pub(super) digest: String,
    /// The disk space of all files.
    pub(super) bytes: u64,
}

/// Returns the state of the tree at `root`. Links are not followed.
pub(super) fn tree_state(root: &Path) -> Result<TreeState> {
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        let to_error = |error: std::io::Error| Error::io(&dir, &error);
        let entries = fs::read_dir(&dir).map_err(to_error)?;
        let mut entries = entries.collect::<Result<Vec<_>, _>>().map_err(to_error)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let found = entry.metadata().map_err(|error| Error::io(&path, &error))?;
            let name = path.strip_prefix(root).unwrap_or(&path).as_os_str();
            hash.update(name.as_bytes());
            hash.update([0]);
            for number in [
                found.ino(),
                found.size(),
                u64::from(found.mode()),
                found.nlink(),
            ] {
                hash.update(number.to_le_bytes());
            }
            for time in [
                found.mtime(),
                found.mtime_nsec(),
                found.ctime(),
                found.ctime_nsec(),
            ] {
                hash.update(time.to_le_bytes());
            }
            bytes += found.blocks() * 512;
            if found.is_dir() {
                pending.push(path);
            }
        }
    }
    Ok(TreeState {
        digest: hexadecimal(&hash.finalize()),
        bytes,
    })
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn every_change_changes_the_state() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a/b");
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(&file, "one").unwrap();
        let mut seen = vec![tree_state(dir.path()).unwrap().digest];
        assert_eq!(tree_state(dir.path()).unwrap().digest, seen[0]);
        let times = fs::metadata(&file).unwrap();
        let times = fs::FileTimes::new().set_modified(times.modified().unwrap());
        for change in ["two", "mode", "remove"] {
            match change {
                "two" => {
                    // The same size and the old time.
                    fs::write(&file, change).unwrap();
                    fs::File::options()
                        .write(true)
                        .open(&file)
                        .unwrap()
                        .set_times(times)
                        .unwrap();
                }
                "mode" => fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap(),
                _ => fs::remove_file(&file).unwrap(),
            }
            let state = tree_state(dir.path()).unwrap().digest;
            assert!(!seen.contains(&state), "{change}");
            seen.push(state);
        }
    }
}
