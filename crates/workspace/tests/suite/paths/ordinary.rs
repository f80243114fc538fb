//! What a root is for: ordinary reading and writing.

use std::os::unix::fs::PermissionsExt;

use windlass_workspace::paths::{PathError, PathKind, Root};

use super::Ground;

#[test]
fn a_file_is_written_with_its_folders_read_listed_renamed_and_deleted() {
    let ground = Ground::new();
    let root = &ground.root;
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
    ground.assert_tidy("a/b");
    ground.assert_tidy("d");
}

#[test]
fn what_is_missing_is_told_from_what_is_wrong() {
    let ground = Ground::new();
    let root = &ground.root;
    ground.put("file", "x");
    let said = |error: PathError| error.to_string();
    assert_eq!(said(root.read("none", 1).unwrap_err()), "not found: none");
    assert_eq!(
        said(root.read("a/none", 1).unwrap_err()),
        "not found: a/none"
    );
    assert_eq!(
        said(root.delete("a/none").unwrap_err()),
        "not found: a/none"
    );
    assert_eq!(
        said(root.read(".", 1).unwrap_err()),
        ".: is a folder, not a file"
    );
    assert_eq!(
        said(root.list("file", 1).unwrap_err()),
        "file: is a file, not a folder"
    );
    assert_eq!(
        said(root.read("file", 0).unwrap_err()),
        "file: larger than 0 bytes"
    );
    assert_eq!(
        said(root.write("file/x", b"").unwrap_err()),
        "refused: file/x: something stands where a folder is needed"
    );
    root.write("other", b"").unwrap();
    assert_eq!(
        said(root.rename("file", "other").unwrap_err()),
        "already exists: other"
    );
    assert!(Root::open(&ground.inside("file")).is_err());
}

#[test]
fn a_file_keeps_its_mode_and_a_new_one_gets_the_usual() {
    let ground = Ground::new();
    ground.put("run.sh", "old");
    std::fs::set_permissions(ground.inside("run.sh"), PermissionsExt::from_mode(0o6750)).unwrap();
    ground.root.write("run.sh", b"new").unwrap();
    ground.root.write("new", b"new").unwrap();
    let mode = |path| ground.inside(path).metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("run.sh"), 0o750);
    ground.put("usual", "");
    assert_eq!(mode("new"), mode("usual"));
    ground.root.set_executable("new", true).unwrap();
    assert_eq!(mode("new"), mode("usual") | ((mode("usual") & 0o444) >> 2));
}

#[test]
fn a_link_that_stays_inside_is_followed_and_stays_a_link() {
    let ground = Ground::new();
    ground.put("docs/AGENTS.md", "old");
    ground.link("docs/AGENTS.md", "CLAUDE.md");
    ground.link("docs", "more/../papers");
    ground.root.write("CLAUDE.md", b"new").unwrap();
    ground.root.write("papers/other", b"too").unwrap();
    assert_eq!(ground.text("docs/AGENTS.md"), "new");
    assert_eq!(ground.text("docs/other"), "too");
    assert!(ground.inside("CLAUDE.md").is_symlink());
    ground.root.delete("CLAUDE.md").unwrap();
    assert_eq!(ground.text("docs/AGENTS.md"), "new");
}

#[test]
fn a_long_listing_is_cut_and_says_so() {
    let ground = Ground::new();
    for number in 0..5 {
        ground.put(&format!("f{number}"), "");
    }
    let listing = ground.root.list(".", 3).unwrap();
    assert!(listing.is_cut && listing.entries.len() == 3);
    assert!(!ground.root.list(".", 5).unwrap().is_cut);
}

/// Root may do everything, so the test gives its powers away first. They come back with the next thread.
#[test]
fn what_the_system_forbids_is_denied() {
    let ground = Ground::new();
    ground.put("locked/file", "x");
    let locked = ground.inside("locked");
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o555)).unwrap();
    std::fs::set_permissions(
        ground.inside("locked/file"),
        PermissionsExt::from_mode(0o000),
    )
    .unwrap();
    let above = ground.inside("..");
    std::fs::set_permissions(above, PermissionsExt::from_mode(0o755)).unwrap();
    let root = ground.root.clone();
    let said = std::thread::spawn(move || {
        if rustix::process::getuid().is_root() {
            rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65534)).unwrap();
        }
        let write = root.write("locked/new", b"").unwrap_err();
        let read = root.read("locked/file", 1).unwrap_err();
        [write.to_string(), read.to_string()]
    });
    assert_eq!(
        said.join().unwrap(),
        [
            "permission denied: locked/new",
            "permission denied: locked/file"
        ]
    );
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o755)).unwrap();
}
