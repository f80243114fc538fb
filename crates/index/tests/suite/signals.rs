//! Each signal alone decides between files that are alike in everything else.

use windlass_index::{CodebaseIndex, PastCommit};

use super::{Harness, commit};

/// Returns the paths for a task, best first, with these commits as history.
fn paths(harness: &Harness, commits: &[PastCommit], task: &str) -> Vec<String> {
    let mut index: CodebaseIndex = harness.open();
    index.add_history("c1", commits, None);
    let related = index.related(task);
    related.files.into_iter().map(|file| file.path).collect()
}

#[test]
fn words_of_first_line_count_more() {
    let harness = Harness::new();
    harness
        .file("a.txt.rs", "// The color of the terminal.\n")
        .file("b.txt.rs", "// The width of the keyboard.\n");
    let task = |first: &str, then: &str| format!("Fix the {first}\n\nLook at the {then}.\n");
    let (color, width) = ("color of the terminal", "width of the keyboard");
    assert_eq!(harness.paths(&task(color, width))[0], "a.txt.rs");
    assert_eq!(harness.paths(&task(width, color))[0], "b.txt.rs");
}

#[test]
fn exact_definition_ranks_before_mentions() {
    let harness = Harness::new();
    harness
        .file("a.rs", "fn caller() { renew_lease(); }\n")
        .file("b.rs", "fn renew_lease() { caller(); }\n")
        .file("c.rs", "fn other() { renew_lease(); }\n");
    assert_eq!(harness.paths("renew_lease is slow")[0], "b.rs");
}

#[test]
fn votes_count_for_the_directory() {
    let harness = Harness::new();
    for path in ["one/a.rs", "one/b.rs", "two/a.rs", "two/b.rs"] {
        harness.file(path, "fn shared() {}\n");
    }
    let commits = [commit("Stop the flicker", &["two/b.rs"])];
    let found = paths(&harness, &commits, "flicker");
    assert_eq!(found, ["two/b.rs", "two/a.rs"]);
}

#[test]
fn history_of_renamed_file_is_kept() {
    let harness = Harness::new();
    harness
        .file("a/new.rs", "fn a() {}\n")
        .file("b/other.rs", "fn a() {}\n");
    let rename = |old: &str, new: &str| PastCommit {
        renames: vec![(old.to_owned(), new.to_owned())],
        ..commit("Move", &[old, new])
    };
    // Newest first: the file was renamed twice after the commit that is similar to the task.
    let commits = [
        rename("middle.rs", "a/new.rs"),
        rename("old.rs", "middle.rs"),
        commit("Stop the flicker", &["old.rs"]),
    ];
    assert_eq!(paths(&harness, &commits, "flicker"), ["a/new.rs"]);

    // A later rename applies to the known history as well.
    let mut index = harness.open();
    index.add_history("c2", &[rename("a/new.rs", "b/other.rs")], Some("c1"));
    assert_eq!(index.related("flicker").files[0].path, "b/other.rs");
}

#[test]
fn repeated_words_in_tests_do_not_hide_the_code() {
    let harness = Harness::new();
    harness
        .file("lease.rs", "fn lease() {}\n")
        .file("tests/lease.rs", "fn lease() { lease(lease) }\n".repeat(50));
    let related = harness.open().related("lease");
    assert_eq!(related.files[0].path, "lease.rs");
    assert!(related.files[0].score > 1.0, "{:?}", related.files);
}
