//! Whether an agent has kept a session, without starting it to ask.

use std::path::Path;

/// How deep agents put their sessions: by project, or by year, month and day.
const MAX_DEPTH: usize = 4;
/// How many entries are looked at. Who has more than that finds out in the first turn.
const MAX_ENTRIES: usize = 100_000;

/// Whether a file below this folder carries the session's name.
pub(super) fn session_exists(folder: &Path, name: &str) -> bool {
    let mut left = MAX_ENTRIES;
    search(folder, name, MAX_DEPTH, &mut left) || left == 0
}

fn search(folder: &Path, name: &str, depth: usize, left: &mut usize) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        if entry.file_name().to_string_lossy().contains(name) {
            return true;
        }
        // A link is not followed: it may lead anywhere, and round in circles.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 1 && search(&entry.path(), name, depth - 1, left) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_by_its_name_where_agents_put_it() {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join("2026/11/15");
        std::fs::create_dir_all(&day).unwrap();
        std::fs::write(day.join("rollout-2026-11-15-abc.jsonl"), "").unwrap();
        assert!(session_exists(home.path(), "abc"));
        assert!(!session_exists(home.path(), "xyz"));
        assert!(!session_exists(&home.path().join("nowhere"), "abc"));
    }
}
