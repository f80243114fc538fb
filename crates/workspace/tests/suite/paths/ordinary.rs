//! Ordinary reading and writing with a root.

use std::os::unix::fs::PermissionsExt;

use windlass_workspace::paths::{PathError, PathKind, Root};

use super::TestDirs;

#[test]
fn file_is_written_read_listed_renamed_and_deleted() {
    let dirs = TestDirs::new();
    let root = &dirs.root;
    assert!(root.write("a/b/c.txt", b"one").unwrap().created);
    assert!(!root.write("a/b/c.txt", b"two").unwrap().created);
    assert_eq!(root.read("a/b/../b/./c.txt", 10).unwrap(), b"two");
    root.write("a/x", b"").unwrap();
    let listing = root.list("a", 10).unwrap();
    let names: Vec<_> = listing
        .entries
        .iter()
        .map(|entry| (entry.name.as_str(), entry.kind))
        .collect();
    assert_eq!(names, [("b", PathKind::Folder), ("x", PathKind::File)]);
    root.rename("a/b/c.txt", "d/e.txt").unwrap();
    assert!(!root.exists("a/b/c.txt").unwrap());
    root.delete("d/e.txt").unwrap();
    assert!(!root.exists("d/e.txt").unwrap());
    dirs.assert_no_temp_files("a/b");
    dirs.assert_no_temp_files("d");
}

#[test]
fn missing_paths_and_wrong_kinds_are_distinguished() {
    let dirs = TestDirs::new();
    let root = &dirs.root;
    dirs.put("file", "x");
    let message = |error: PathError| error.to_string();
    assert_eq!(
        message(root.read("none", 1).unwrap_err()),
        "not found: none"
    );
    assert_eq!(
        message(root.read("a/none", 1).unwrap_err()),
        "not found: a/none"
    );
    assert_eq!(
        message(root.delete("a/none").unwrap_err()),
        "not found: a/none"
    );
    assert_eq!(
        message(root.read(".", 1).unwrap_err()),
        ".: is a directory, not a file"
    );
    assert_eq!(
        message(root.list("file", 1).unwrap_err()),
        "file: is a file, not a directory"
    );
    assert_eq!(
        message(root.read("file", 0).unwrap_err()),
        "file: larger than 0 bytes"
    );
    assert_eq!(
        message(root.write("file/x", b"").unwrap_err()),
        "refused: file/x: a parent of the path is not a directory"
    );
    root.write("other", b"").unwrap();
    assert_eq!(
        message(root.rename("file", "other").unwrap_err()),
        "already exists: other"
    );
    assert!(Root::open(&dirs.inside("file")).is_err());
}

#[test]
fn existing_mode_is_preserved_and_new_file_gets_default() {
    let dirs = TestDirs::new();
    dirs.put("run.sh", "old");
    std::fs::set_permissions(dirs.inside("run.sh"), PermissionsExt::from_mode(0o6750)).unwrap();
    dirs.root.write("run.sh", b"new").unwrap();
    dirs.root.write("new", b"new").unwrap();
    let mode = |path| dirs.inside(path).metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("run.sh"), 0o750);
    dirs.put("usual", "");
    assert_eq!(mode("new"), mode("usual"));
    dirs.root.set_executable("new", true).unwrap();
    assert_eq!(mode("new"), mode("usual") | ((mode("usual") & 0o444) >> 2));
}

#[test]
fn link_inside_is_followed_and_preserved() {
    let dirs = TestDirs::new();
    dirs.put("docs/AGENTS.md", "old");
    dirs.link("docs/AGENTS.md", "CLAUDE.md");
    dirs.link("docs", "more/../notes");
    dirs.root.write("CLAUDE.md", b"new").unwrap();
    dirs.root.write("notes/other", b"too").unwrap();
    assert_eq!(dirs.text("docs/AGENTS.md"), "new");
    assert_eq!(dirs.text("docs/other"), "too");
    assert!(dirs.inside("CLAUDE.md").is_symlink());
    dirs.root.delete("CLAUDE.md").unwrap();
    assert_eq!(dirs.text("docs/AGENTS.md"), "new");
}

#[test]
fn long_listing_is_truncated_and_marked() {
    let dirs = TestDirs::new();
    for number in 0..5 {
        dirs.put(&format!("f{number}"), "");
    }
    let listing = dirs.root.list(".", 3).unwrap();
    assert!(listing.is_cut && listing.entries.len() == 3);
    assert!(!dirs.root.list(".", 5).unwrap().is_cut);
}

/// Root may do everything, so the test drops its privileges in a separate thread.
#[test]
fn missing_permissions_are_reported_as_denied() {
    let dirs = TestDirs::new();
    dirs.put("locked/file", "x");
    let locked = dirs.inside("locked");
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o555)).unwrap();
    std::fs::set_permissions(dirs.inside("locked/file"), PermissionsExt::from_mode(0o000)).unwrap();
    let parent = dirs.inside("..");
    std::fs::set_permissions(parent, PermissionsExt::from_mode(0o755)).unwrap();
    let root = dirs.root.clone();
    let errors = std::thread::spawn(move || {
        if rustix::process::getuid().is_root() {
            rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65534)).unwrap();
        }
        let write = root.write("locked/new", b"").unwrap_err();
        let read = root.read("locked/file", 1).unwrap_err();
        [write.to_string(), read.to_string()]
    });
    assert_eq!(
        errors.join().unwrap(),
        [
            "permission denied: locked/new",
            "permission denied: locked/file"
        ]
    );
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o755)).unwrap();
}
