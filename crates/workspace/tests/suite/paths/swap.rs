//! P17: somebody changes the tree while it is used.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::Ground;

/// Exchanges two names, over and over, until told to stop.
fn swap(stop: &AtomicBool, one: &Path, other: &Path) {
    while !stop.load(Ordering::Relaxed) {
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
    }
}

/// Does the deed many times meanwhile, and on until it says that it has seen enough: who runs when is not ours to say.
fn while_swapping(ground: &Ground, one: &str, other: &str, mut deed: impl FnMut(usize) -> bool) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| swap(&stop, &ground.inside(one), &ground.inside(other)));
        for round in 0..100_000 {
            if deed(round) && round >= 500 {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    ground.assert_untouched();
}

#[test]
fn p17_a_folder_swapped_for_a_link_during_writes_leads_nowhere() {
    let ground = Ground::new();
    ground.put("folder/file", "");
    ground.link("../outside", "link");
    let (mut written, mut escaped) = (0, 0);
    while_swapping(&ground, "folder", "link", |round| {
        let name = ["folder/secret", "folder/new", "folder/deep/er"][round % 3];
        match ground.root.write(name, b"evil") {
            Ok(_) => written += 1,
            Err(error) if error.is_escape() => escaped += 1,
            // Between two looks the tree was another; nothing was done.
            Err(_) => {}
        }
        let _ = ground.root.delete("folder/secret");
        written > 0 && escaped > 0
    });
    assert!(written > 0 && escaped > 0, "{written} {escaped}");
}

#[test]
fn p17_a_file_swapped_for_a_link_during_writes_leads_nowhere() {
    let ground = Ground::new();
    ground.put("file", "");
    ground.link("../outside/secret", "link");
    while_swapping(&ground, "file", "link", |_| {
        let _ = ground.root.write("file", b"evil");
        if let Ok(content) = ground.root.read("file", 100) {
            assert_ne!(content, b"canary");
        }
        // Both names must be there for the next exchange.
        for name in ["file", "link"] {
            assert!(ground.inside(name).symlink_metadata().is_ok());
        }
        true
    });
}

#[test]
fn p17_a_parent_swapped_while_stepping_up_leads_nowhere() {
    let ground = Ground::new();
    ground.put("a/b/file", "inside");
    ground.put("c/file", "inside");
    ground.link("../outside", "away");
    while_swapping(&ground, "c", "away", |_| {
        for path in ["a/b/../../c/secret", "c/secret", "a/../c/../c/secret"] {
            if let Ok(content) = ground.root.read(path, 100) {
                assert_ne!(content, b"canary", "{path}");
            }
            let _ = ground.root.rename("a/b/file", "c/secret");
            let _ = ground.root.rename("c/secret", "a/b/file");
        }
        true
    });
}
