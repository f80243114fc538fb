//! Snapshots of a user's directory: what they contain, and that undoing harms nothing else.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use windlass_workspace::{DirSnapshots, Restored, Snapshot};

use super::harness::Harness;

async fn open(harness: &Harness, dir: &Path) -> DirSnapshots {
    let store = harness.path("snapshots");
    DirSnapshots::open(harness.sandbox().await, &store, dir)
        .await
        .unwrap()
}

/// What git itself knows of the checkout.
fn git_state(harness: &Harness) -> [String; 4] {
    [
        harness.git(&["status", "--porcelain=v2", "--branch"]),
        harness.git(&["ls-files", "--stage"]),
        harness.git(&["for-each-ref"]),
        harness.git(&["stash", "list"]),
    ]
}

async fn restore(snapshots: &DirSnapshots, before: &Snapshot, after: &Snapshot) -> Restored {
    snapshots.restore(&before.tree, &after.tree).await.unwrap()
}

fn files(names: &[&str]) -> Restored {
    Restored::Files(names.iter().map(|name| (*name).to_owned()).collect())
}

#[tokio::test]
async fn change_is_shown_and_undone_exactly() {
    let harness = Harness::new();
    harness.write(".gitattributes", "* text=auto\n");
    harness.write("crlf.txt", "one\r\ntwo\r\n");
    harness.commit("attributes");
    // What the user has not committed stays as it is.
    harness.write("staged.txt", "staged\n");
    harness.git(&["add", "staged.txt"]);
    harness.write("untracked.txt", "mine\n");
    let git_before = git_state(&harness);
    let root = harness.root();
    let snapshots = open(&harness, &root).await;
    let before = snapshots.take().await.unwrap();
    assert_eq!(snapshots.take().await.unwrap(), before);

    harness.write("notes.txt", "changed\n");
    harness.write("crlf.txt", "changed\r\n");
    harness.write("untracked.txt", "overwritten\n");
    harness.write("new/deep/file.txt", "new\n");
    std::fs::remove_file(root.join("src/lib.txt")).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(root.join("staged.txt"), mode).unwrap();
    symlink("notes.txt", root.join("link")).unwrap();
    let after = snapshots.take().await.unwrap();
    let changed = snapshots.changed_files(&before.tree, &after.tree).await;
    let expected = [
        "crlf.txt",
        "link",
        "new/deep/file.txt",
        "notes.txt",
        "src/lib.txt",
        "staged.txt",
        "untracked.txt",
    ];
    assert_eq!(changed.unwrap(), expected);
    let diff = snapshots.diff(&before.tree, &after.tree).await.unwrap();
    assert!(diff.contains("-mine\n+overwritten\n"), "{diff}");

    // The user works on another file meanwhile.
    harness.write("other.txt", "the user's\n");
    assert_eq!(restore(&snapshots, &before, &after).await, files(&expected));
    assert_eq!(harness.read("notes.txt"), "one\ntwo\nthree\n");
    assert_eq!(harness.read("crlf.txt"), "one\r\ntwo\r\n");
    assert_eq!(harness.read("untracked.txt"), "mine\n");
    assert_eq!(harness.read("src/lib.txt"), "library\n");
    assert_eq!(harness.read("other.txt"), "the user's\n");
    assert!(!root.join("new").exists());
    assert!(root.join("link").symlink_metadata().is_err());
    std::fs::remove_file(root.join("other.txt")).unwrap();
    assert_eq!(snapshots.take().await.unwrap(), before);
    assert_eq!(git_state(&harness), git_before);
}

#[tokio::test]
async fn nothing_is_undone_if_a_changed_file_changed_again() {
    let harness = Harness::new();
    let snapshots = open(&harness, &harness.root()).await;
    let before = snapshots.take().await.unwrap();
    harness.write("notes.txt", "agent\n");
    harness.write("new.txt", "agent\n");
    let after = snapshots.take().await.unwrap();
    harness.write("notes.txt", "agent\nuser\n");
    let refused = Restored::ChangedSince(vec!["notes.txt".to_owned()]);
    assert_eq!(restore(&snapshots, &before, &after).await, refused);
    assert_eq!(harness.read("notes.txt"), "agent\nuser\n");
    assert_eq!(harness.read("new.txt"), "agent\n");
    std::fs::remove_file(harness.root().join("new.txt")).unwrap();
    harness.write("notes.txt", "agent\n");
    let refused = Restored::ChangedSince(vec!["new.txt".to_owned()]);
    assert_eq!(restore(&snapshots, &before, &after).await, refused);
}

#[tokio::test]
async fn ignored_files_survive_a_change_of_the_ignore_rules() {
    let harness = Harness::new();
    harness.write(".gitignore", ".env\n");
    harness.write(".env", "SECRET=1\n");
    harness.write("sub/.env", "SECRET=2\n");
    let snapshots = open(&harness, &harness.root()).await;
    let before = snapshots.take().await.unwrap();
    // The agent makes ignored files visible, and changes one.
    harness.write(".gitignore", "target\n");
    harness.write("sub/.gitignore", "!.env\n");
    harness.write("made.txt", "made\n");
    let after = snapshots.take().await.unwrap();
    let restored = restore(&snapshots, &before, &after).await;
    assert!(matches!(restored, Restored::Files(_)), "{restored:?}");
    assert_eq!(harness.read(".gitignore"), ".env\n");
    assert_eq!(harness.read(".env"), "SECRET=1\n");
    assert_eq!(harness.read("sub/.env"), "SECRET=2\n");
    assert!(!harness.root().join("made.txt").exists());
    assert!(!harness.root().join("sub/.gitignore").exists());
}

#[tokio::test]
async fn subdirectories_and_directories_without_git_work() {
    let harness = Harness::new();
    harness.write(".gitignore", "*.log\n");
    let snapshots = open(&harness, &harness.root().join("src")).await;
    let before = snapshots.take().await.unwrap();
    harness.write("src/lib.txt", "changed\n");
    harness.write("src/x.log", "ignored\n");
    harness.write("notes.txt", "outside\n");
    let after = snapshots.take().await.unwrap();
    assert_eq!(
        restore(&snapshots, &before, &after).await,
        files(&["src/lib.txt"])
    );
    assert_eq!(harness.read("src/lib.txt"), "library\n");
    assert_eq!(harness.read("notes.txt"), "outside\n");
    assert_eq!(harness.read("src/x.log"), "ignored\n");

    // Outside of every repository, also of the one that these tests are in.
    let outside = tempfile::tempdir().unwrap();
    let plain = outside.path().join("plain");
    std::fs::create_dir(&plain).unwrap();
    std::fs::write(plain.join("a.txt"), "a\n").unwrap();
    let store = harness.path("plain-snapshots");
    let snapshots = DirSnapshots::open(harness.sandbox().await, &store, &plain)
        .await
        .unwrap();
    let before = snapshots.take().await.unwrap();
    std::fs::write(plain.join("a.txt"), "b\n").unwrap();
    std::fs::write(plain.join("c.txt"), "c\n").unwrap();
    // A repository that the agent creates is not part of the directory.
    std::fs::create_dir_all(plain.join("nested/.git")).unwrap();
    let after = snapshots.take().await.unwrap();
    // Another process undoes it.
    drop(snapshots);
    let snapshots = DirSnapshots::open(harness.sandbox().await, &store, &plain)
        .await
        .unwrap();
    assert_eq!(
        restore(&snapshots, &before, &after).await,
        files(&["a.txt", "c.txt"])
    );
    assert_eq!(std::fs::read_to_string(plain.join("a.txt")).unwrap(), "a\n");
    assert!(!plain.join("c.txt").exists());
    assert!(!plain.join(".git").exists());
}

#[tokio::test]
async fn links_do_not_lead_outside() {
    let harness = Harness::new();
    let outside = harness.path("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("lib.txt"), "outside\n").unwrap();
    let snapshots = open(&harness, &harness.root()).await;
    let before = snapshots.take().await.unwrap();
    // The agent replaces a directory by a link.
    std::fs::remove_dir_all(harness.root().join("src")).unwrap();
    symlink(&outside, harness.root().join("src")).unwrap();
    let after = snapshots.take().await.unwrap();
    restore(&snapshots, &before, &after).await;
    let text = std::fs::read_to_string(outside.join("lib.txt")).unwrap();
    assert_eq!(text, "outside\n");
    assert_eq!(harness.read("src/lib.txt"), "library\n");
    let source = harness.root().join("src").symlink_metadata().unwrap();
    assert!(source.is_dir());
}

#[tokio::test]
async fn unknown_snapshots_are_refused_and_large_files_skipped() {
    let harness = Harness::new();
    let large = std::fs::File::create(harness.root().join("large.bin")).unwrap();
    large.set_len(65 << 20).unwrap();
    let snapshots = open(&harness, &harness.root()).await;
    let before = snapshots.take().await.unwrap();
    assert_eq!(before.skipped, ["large.bin"]);
    for unknown in ["", "HEAD", "--help", &"0".repeat(40)] {
        let error = snapshots.restore(unknown, &before.tree).await.unwrap_err();
        assert!(error.to_string().contains("no longer stored"), "{error}");
    }
}

#[tokio::test]
async fn directory_that_git_ignores_is_refused_unless_it_has_stored_files() {
    let harness = Harness::new();
    harness.write(".gitignore", "build/\nkept/\n");
    harness.write("kept/stored.txt", "one\n");
    harness.git(&["add", "-f", "kept/stored.txt"]);
    harness.commit("ignore");
    harness.write("build/out.txt", "one\n");
    let root = harness.root();
    let sandbox = harness.sandbox().await;
    let store = harness.path("build-snapshots");
    let refused = DirSnapshots::open(sandbox, &store, &root.join("build")).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.ends_with("build: git ignores it, so changes of files there cannot be seen"),
        "{refused}"
    );

    let snapshots = open(&harness, &root.join("kept")).await;
    let before = snapshots.take().await.unwrap();
    harness.write("kept/stored.txt", "two\n");
    let after = snapshots.take().await.unwrap();
    assert_eq!(
        restore(&snapshots, &before, &after).await,
        files(&["kept/stored.txt"])
    );
}
