//! Removes stored results that are too old, or too large together.

use std::fs;
use std::time::{Duration, SystemTime};

use super::record::{ENTRY_FILE, EntryRecord};
use crate::clone::ClonesDir;
use crate::error::{Error, Result};

/// How much is stored, and for how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoreLimits {
    /// Results are removed, the least recently used first, while all together are larger.
    max_bytes: u64,
    /// A result that was not used for this time is removed.
    max_age: Duration,
    /// A result is not removed for this time after it was used: a checkout may have links to it.
    min_age: Duration,
}

impl Default for StoreLimits {
    /// 20 GiB, 30 days, and 6 hours after the last use.
    fn default() -> Self {
        const HOUR: u64 = 3600;
        Self {
            max_bytes: 20 << 30,
            max_age: Duration::from_secs(30 * 24 * HOUR),
            min_age: Duration::from_secs(6 * HOUR),
        }
    }
}

/// Removes what exceeds the limits, and the rest of interrupted work.
pub(super) fn prune(dir: &ClonesDir, limits: StoreLimits) -> Result<()> {
    let to_error = |error: std::io::Error| Error::io(dir.path(), &error);
    dir.clean_up()?;
    // By the clock of the file system, which sets the other times.
    let now = tempfile::tempfile_in(dir.path()).and_then(|file| file.metadata()?.modified());
    let now = now.map_err(to_error)?;
    let age = |used: SystemTime| now.duration_since(used).unwrap_or_default();
    let mut results = Vec::new();
    for entry in fs::read_dir(dir.path()).map_err(to_error)?.flatten() {
        let path = entry.path();
        let is_lock = entry.file_type().is_ok_and(|kind| kind.is_file());
        let file = if is_lock {
            path.clone()
        } else {
            path.join(ENTRY_FILE)
        };
        let Ok(used) = file.metadata().and_then(|found| found.modified()) else {
            continue;
        };
        if !is_lock {
            let bytes = EntryRecord::read(&path).map_or(0, |record| record.bytes);
            results.push((age(used), bytes, path));
        } else if age(used) > limits.max_age {
            // A process that waits for the lock may run the set-up a second time.
            let _ = fs::remove_file(&path);
        }
    }
    results.sort();
    let mut total = 0;
    for (age, bytes, path) in results {
        total += bytes;
        let is_excess = age > limits.max_age || total > limits.max_bytes;
        if is_excess && age >= limits.min_age {
            dir.remove(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates results with these names, ages in hours, and sizes; returns what is left.
    fn left(results: &[(&str, u64, u64)]) -> Vec<String> {
        let parent = tempfile::tempdir().unwrap();
        let dir = ClonesDir::new(parent.path().join("setup")).unwrap();
        let now = parent.path().metadata().unwrap().modified().unwrap();
        for (name, hours, bytes) in results {
            let path = dir.path().join(name);
            fs::create_dir(&path).unwrap();
            let record = EntryRecord {
                root: "/".into(),
                artifacts: Vec::new(),
                caches: Vec::new(),
                bytes: *bytes,
                digest: String::new(),
            };
            record.write(&path).unwrap();
            let file = fs::File::options().write(true).open(path.join(ENTRY_FILE));
            let used = now - Duration::from_secs(hours * 3600);
            file.unwrap().set_modified(used).unwrap();
        }
        prune(&dir, StoreLimits::default()).unwrap();
        let entries = fs::read_dir(dir.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn old_results_and_the_least_recently_used_are_removed() {
        const GIB: u64 = 1 << 30;
        assert_eq!(left(&[("a", 1, 1), ("b", 31 * 24, 1)]), ["a"]);
        assert_eq!(
            left(&[("a", 10, 15 * GIB), ("b", 8, 4 * GIB), ("c", 7, 4 * GIB)]),
            ["b", "c"]
        );
        // In use.
        assert_eq!(left(&[("a", 1, 50 * GIB), ("b", 5, 50 * GIB)]), ["a", "b"]);
    }
}
