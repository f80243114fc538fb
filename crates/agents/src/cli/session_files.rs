//! Checks whether an agent has a session, without starting the agent.

use std::path::Path;

/// How deep agents nest session files: by project, or by year, month and day.
const MAX_DEPTH: usize = 4;
/// Maximum number of entries to check. Beyond it, a missing session is detected in the first turn.
const MAX_ENTRIES: usize = 100_000;

/// Returns `true` if a file below this directory has the session's ID in its name.
pub(super) fn session_exists(dir: &Path, name: &str) -> bool {
    let mut left = MAX_ENTRIES;
    search(dir, name, MAX_DEPTH, &mut left) || left == 0
}

fn search(dir: &Path, name: &str, depth: usize, left: &mut usize) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in entries {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        if entry.file_name().to_string_lossy().contains(name) {
            return true;
        }
        // Symlinks are not followed: they can point anywhere, and form cycles.
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir && depth > 1 && search(&entry.path(), name, depth - 1, left) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_is_found_by_file_name() {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join("2026/11/15");
        std::fs::create_dir_all(&day).unwrap();
        std::fs::write(day.join("rollout-2026-11-15-abc.jsonl"), "").unwrap();
        assert!(session_exists(home.path(), "abc"));
        assert!(!session_exists(home.path(), "xyz"));
        assert!(!session_exists(&home.path().join("nowhere"), "abc"));
    }
}
