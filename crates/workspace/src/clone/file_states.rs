//! The state of the files of a clone: whether one of them changed since, without a sandbox and git.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::paths::Root;

/// A directory with more files is left to git.
const MAX_FILES: usize = 5_000;
/// Maximum size of all files whose content is compared.
const MAX_CONTENT_BYTES: u64 = 16 << 20;
/// A file that changed less than this before it was examined can change again without a new time: some file
/// systems count in units of two seconds.
const TIME_UNIT: Duration = Duration::from_secs(2);

/// The state of all files in a directory, but for its own `.git`. Directories do not count: git does not store them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileStates(BTreeMap<PathBuf, ExaminedFile>);

/// The state of a file. A change of the file changes its time, which no program without privileges can set.
#[derive(Debug, PartialEq, Eq)]
struct ExaminedFile {
    identity: (u64, u64),
    mode: u32,
    size: u64,
    changed: (i64, i64),
    /// The hash of the content, if the time alone is not reliable.
    content: Option<[u8; 32]>,
}

impl FileStates {
    /// Examines the files in `root`. `clock_dir` is a directory in the same file system, whose clock is used.
    ///
    /// Returns `None` if git must decide: there are too many files, or one that cannot be examined.
    pub(crate) fn examine(root: &Path, clock_dir: &Path) -> Option<Self> {
        let now = tempfile::tempfile_in(clock_dir).and_then(|file| file.metadata());
        let recent = now.ok()?.ctime() - i64::try_from(TIME_UNIT.as_secs()).ok()?;
        Self::collect(root, |_, found| found.ctime() >= recent).ok()
    }

    /// Returns `true` if the files are certainly still the same.
    pub(crate) fn are_unchanged(&self, root: &Path) -> bool {
        let has_content = |path: &Path, _: &Metadata| {
            let known = self.0.get(path);
            known.is_some_and(|known| known.content.is_some())
        };
        Self::collect(root, has_content).is_ok_and(|now| now == *self)
    }

    /// Collects the states, with the contents of the files for which `needs_content` returns `true`.
    fn collect(root: &Path, needs_content: impl Fn(&Path, &Metadata) -> bool) -> io::Result<Self> {
        let opened = Root::open(root).map_err(io::Error::other)?;
        let mut bytes_left = MAX_CONTENT_BYTES;
        let mut states = BTreeMap::new();
        let mut dirs = vec![PathBuf::new()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(root.join(&dir))? {
                let entry = entry?;
                let path = dir.join(entry.file_name());
                if path == Path::new(".git") {
                    continue;
                }
                if entry.file_type()?.is_dir() {
                    dirs.push(path);
                    continue;
                }
                if states.len() >= MAX_FILES {
                    return Err(io::ErrorKind::QuotaExceeded.into());
                }
                let found = entry.metadata()?;
                let mut state = ExaminedFile {
                    identity: (found.dev(), found.ino()),
                    mode: found.mode(),
                    size: found.size(),
                    changed: (found.ctime(), found.ctime_nsec()),
                    content: None,
                };
                if needs_content(&path, &found) {
                    let content = content(&opened, &path, &found, bytes_left)?;
                    // The target of a link counts too, and may be longer than what is left.
                    let left = bytes_left.checked_sub(content.len() as u64);
                    bytes_left = left.ok_or(io::ErrorKind::QuotaExceeded)?;
                    state.content = Some(Sha256::digest(&content).into());
                }
                states.insert(path, state);
            }
        }
        Ok(Self(states))
    }
}

/// Reads a file or a link. The path is resolved by the kernel below the root, because a running agent may replace a
/// directory by a link.
fn content(root: &Root, path: &Path, found: &Metadata, limit: u64) -> io::Result<Vec<u8>> {
    if found.is_symlink() {
        let target = fs::read_link(root.path().join(path))?;
        return Ok(target.as_os_str().as_bytes().to_vec());
    }
    let path = path.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
    // Also refuses what is not a file.
    root.read(path, limit).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Returns `true` if nothing changed by what `change` does with a directory of files.
    fn are_unchanged_after(is_recent: bool, change: impl Fn(&Path)) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work");
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        for name in ["a", "src/b", "src/deep/c", ".git/HEAD"] {
            fs::write(root.join(name), "old").unwrap();
        }
        symlink("a", root.join("link")).unwrap();
        let states = if is_recent {
            FileStates::examine(&root, dir.path()).unwrap()
        } else {
            FileStates::collect(&root, |_, _| false).unwrap()
        };
        let content = states.0.values().map(|state| state.content.is_some());
        assert!(
            content
                .into_iter()
                .all(|has_content| has_content == is_recent)
        );
        change(&root);
        states.are_unchanged(&root)
    }

    #[test]
    fn every_change_of_a_file_is_noticed() {
        let changes: [fn(&Path); 6] = [
            |root| fs::write(root.join("a"), "longer").unwrap(),
            |root| fs::write(root.join("src/new"), "").unwrap(),
            |root| fs::remove_file(root.join("src/deep/c")).unwrap(),
            |root| fs::rename(root.join("a"), root.join("src/a")).unwrap(),
            |root| {
                fs::remove_file(root.join("link")).unwrap();
                symlink("src", root.join("link")).unwrap();
            },
            |root| {
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(root.join("a"), mode).unwrap();
            },
        ];
        for (number, change) in changes.into_iter().enumerate() {
            for is_recent in [true, false] {
                assert!(!are_unchanged_after(is_recent, change), "{number}");
            }
        }
    }

    #[test]
    fn what_git_does_not_store_is_no_change() {
        let changes: [fn(&Path); 3] = [
            |_| {},
            |root| fs::write(root.join(".git/HEAD"), "new").unwrap(),
            |root| fs::create_dir(root.join("src/empty")).unwrap(),
        ];
        for change in changes {
            assert!(are_unchanged_after(true, change));
        }
    }

    #[test]
    fn content_counts_while_the_time_may_stay_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a"), "old").unwrap();
        let mut states = FileStates::examine(&root, dir.path()).unwrap();
        fs::write(root.join("a"), "new").unwrap();
        // As if the clock of the file system had stood still.
        let found = root.join("a").metadata().unwrap();
        let state = states.0.get_mut(Path::new("a")).unwrap();
        state.changed = (found.ctime(), found.ctime_nsec());
        assert!(!states.are_unchanged(&root));
    }

    #[test]
    fn p12_links_count_towards_the_limit_of_contents() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work");
        fs::create_dir_all(root.join("later")).unwrap();
        let examine = || FileStates::examine(&root, dir.path());
        let file = fs::File::create(root.join("file")).unwrap();
        file.set_len(MAX_CONTENT_BYTES - 100).unwrap();
        assert!(examine().is_some());
        // A directory is examined after the files beside it, so the link is longer than what is left.
        symlink("x".repeat(4_000), root.join("later/link")).unwrap();
        assert!(examine().is_none());
    }

    #[test]
    fn what_cannot_be_examined_is_left_to_git() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a"), "").unwrap();
        assert!(FileStates::examine(&root, dir.path()).is_some());
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), rustix::fs::Mode::RUSR).unwrap();
        assert!(FileStates::examine(&root, dir.path()).is_none());
        fs::remove_file(root.join("pipe")).unwrap();
        for number in 0..MAX_FILES {
            fs::write(root.join(number.to_string()), "").unwrap();
        }
        assert!(FileStates::examine(&root, dir.path()).is_none());
    }
}
