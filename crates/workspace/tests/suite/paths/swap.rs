//! P17: another process changes the tree while it is used.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::TestDirs;

/// Repeatedly exchanges two names until `stop` is set.
fn swap(stop: &AtomicBool, one: &Path, other: &Path) {
    while !stop.load(Ordering::Relaxed) {
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
    }
}

/// Runs the operation many times during the exchanges, until it reports that it has seen enough:
/// the scheduling of the threads cannot be controlled.
fn while_swapping(
    dirs: &TestDirs,
    one: &str,
    other: &str,
    mut operation: impl FnMut(usize) -> bool,
) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| swap(&stop, &dirs.inside(one), &dirs.inside(other)));
        for round in 0..100_000 {
            if operation(round) && round >= 500 {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    dirs.assert_untouched();
}

#[test]
fn p17_directory_swapped_for_link_during_writes_cannot_escape() {
    let dirs = TestDirs::new();
    dirs.put("folder/file", "");
    dirs.link("../outside", "link");
    let (mut written, mut escaped) = (0, 0);
    while_swapping(&dirs, "folder", "link", |round| {
        let name = ["folder/secret", "folder/new", "folder/deep/er"][round % 3];
        match dirs.root.write(name, b"evil") {
            Ok(_) => written += 1,
            Err(error) if error.is_escape() => escaped += 1,
            // The tree changed between two steps; nothing was written.
            Err(_) => {}
        }
        let _ = dirs.root.delete("folder/secret");
        written > 0 && escaped > 0
    });
    assert!(written > 0 && escaped > 0, "{written} {escaped}");
}

#[test]
fn p17_file_swapped_for_link_during_writes_cannot_escape() {
    let dirs = TestDirs::new();
    dirs.put("file", "");
    dirs.link("../outside/secret", "link");
    while_swapping(&dirs, "file", "link", |_| {
        let _ = dirs.root.write("file", b"evil");
        if let Ok(content) = dirs.root.read("file", 100) {
            assert_ne!(content, b"canary");
        }
        // Both names must exist for the next exchange.
        for name in ["file", "link"] {
            assert!(dirs.inside(name).symlink_metadata().is_ok());
        }
        true
    });
}

#[test]
fn p17_parent_swapped_during_resolution_cannot_escape() {
    let dirs = TestDirs::new();
    dirs.put("a/b/file", "inside");
    dirs.put("c/file", "inside");
    dirs.link("../outside", "away");
    while_swapping(&dirs, "c", "away", |_| {
        for path in ["a/b/../../c/secret", "c/secret", "a/../c/../c/secret"] {
            if let Ok(content) = dirs.root.read(path, 100) {
                assert_ne!(content, b"canary", "{path}");
            }
            let _ = dirs.root.rename("a/b/file", "c/secret");
            let _ = dirs.root.rename("c/secret", "a/b/file");
        }
        true
    });
}
