//! A finished branch is merged into the user's checkout, and no edit is lost.

use windlass_workspace::{Clones, MergeOutcome, Merged};

use super::harness::{BRANCH, Harness, publish};

/// Creates a repository with a branch on which `notes.txt` has this text.
async fn with_branch(text: &str) -> (Harness, Clones) {
    let harness = Harness::new();
    let clone = harness.open().await;
    publish(&*clone, 1, text).await;
    clone.close().await.unwrap();
    let clones = harness.clones().await;
    (harness, clones)
}

async fn merge(harness: &Harness, clones: &Clones) -> MergeOutcome {
    let preview = clones.preview(&harness.root(), BRANCH).await.unwrap();
    let outcome = clones.merge(&harness.root(), BRANCH).await.unwrap();
    assert_eq!(kind(&preview), kind(&outcome));
    assert!(
        harness.clone_names().is_empty(),
        "{:?}",
        harness.clone_names()
    );
    outcome
}

fn kind(outcome: &MergeOutcome) -> std::mem::Discriminant<MergeOutcome> {
    std::mem::discriminant(outcome)
}

#[track_caller]
fn merged(outcome: MergeOutcome) -> Merged {
    match outcome {
        MergeOutcome::Merged(merged) => merged,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn fast_forward_keeps_unrelated_edits() {
    let (harness, clones) = with_branch("one\n2\nthree\n").await;
    harness.write("src/lib.txt", "library, edited\n");
    harness.write("untracked.txt", "mine\n");
    let before = harness.git(&["rev-parse", "HEAD"]);
    let outcome = merged(merge(&harness, &clones).await);
    assert!(outcome.fast_forward);
    assert_eq!((outcome.into.as_str(), &outcome.before), ("main", &before));
    assert_eq!(outcome.files, ["notes.txt"]);
    assert_eq!(harness.read("notes.txt"), "one\n2\nthree\n");
    assert_eq!(
        harness.git(&["status", "--porcelain"]),
        " M src/lib.txt\n?? untracked.txt"
    );
    assert_eq!(harness.git(&["rev-parse", "main"]), outcome.after);
    assert_eq!(merge(&harness, &clones).await, MergeOutcome::UpToDate);

    let undo: Vec<&str> = Vec::from_iter(outcome.undo().leak().split(' ').skip(1));
    harness.git(&undo);
    assert_eq!(harness.read("notes.txt"), "one\ntwo\nthree\n");
    assert_eq!(harness.read("src/lib.txt"), "library, edited\n");
}

#[tokio::test]
async fn diverged_branch_gets_a_merge_commit() {
    let (harness, clones) = with_branch("one\ntwo\nthree\nfour\n").await;
    harness.write("notes.txt", "zero\none\ntwo\nthree\n");
    harness.commit("concurrent");
    let outcome = merged(merge(&harness, &clones).await);
    assert!(!outcome.fast_forward);
    assert_eq!(harness.read("notes.txt"), "zero\none\ntwo\nthree\nfour\n");
    assert_eq!(
        harness.git(&["log", "-1", "--format=%s"]),
        format!("Merge branch '{BRANCH}'")
    );
    assert_eq!(
        harness.git(&["rev-list", "--count", "--merges", "HEAD"]),
        "1"
    );
    assert_eq!(harness.git(&["status", "--porcelain"]), "");
    harness.git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn uncommitted_edits_are_never_overwritten() {
    let (harness, clones) = with_branch("one\n2\nthree\n").await;
    let rejected = MergeOutcome::WouldOverwrite(vec!["notes.txt".into()]);
    let head = harness.git(&["rev-parse", "HEAD"]);
    for staged in [false, true] {
        harness.write("notes.txt", "mine\n");
        if staged {
            harness.git(&["add", "notes.txt"]);
        }
        assert_eq!(merge(&harness, &clones).await, rejected);
        assert_eq!(harness.read("notes.txt"), "mine\n");
    }
    harness.git(&["rm", "-q", "--cached", "notes.txt"]);
    assert_eq!(merge(&harness, &clones).await, rejected);
    assert_eq!(harness.read("notes.txt"), "mine\n");
    assert_eq!(harness.git(&["rev-parse", "HEAD"]), head);
}

#[tokio::test]
async fn untracked_and_ignored_files_are_never_overwritten() {
    let harness = Harness::new();
    let clone = harness.open().await;
    super::harness::put(clone.root(), "new.txt", "agent\n");
    publish(&*clone, 1, "one\n").await;
    let clones = harness.clones().await;
    clone.close().await.unwrap();
    harness.write("new.txt", "mine\n");
    let rejected = MergeOutcome::WouldOverwrite(vec!["new.txt".into()]);
    assert_eq!(merge(&harness, &clones).await, rejected);
    harness.write(".git/info/exclude", "new.txt\n");
    assert_eq!(merge(&harness, &clones).await, rejected);
    assert_eq!(harness.read("new.txt"), "mine\n");
}

#[tokio::test]
async fn conflicts_are_reported_without_changes() {
    let (harness, clones) = with_branch("one\n2\nthree\n").await;
    harness.write("notes.txt", "one\nII\nthree\n");
    let head = harness.commit("concurrent");
    let expected = MergeOutcome::Conflicts(vec!["notes.txt".into()]);
    assert_eq!(merge(&harness, &clones).await, expected);
    assert_eq!(harness.read("notes.txt"), "one\nII\nthree\n");
    assert_eq!(harness.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(harness.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn touched_but_unchanged_file_is_not_an_edit() {
    let (harness, clones) = with_branch("one\n2\nthree\n").await;
    let file = std::fs::File::options()
        .append(true)
        .open(harness.root().join("notes.txt"))
        .unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    merged(merge(&harness, &clones).await);
}

#[tokio::test]
async fn impossible_merges_are_rejected_with_reason() {
    let (harness, clones) = with_branch("one\n2\nthree\n").await;
    let rejected = async |expected: &str| {
        let error = clones
            .merge(&harness.root(), BRANCH)
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    };
    harness.git(&["checkout", "-q", "--detach"]);
    rejected("detached HEAD").await;
    harness.git(&["checkout", "-q", "main"]);
    harness.write(".git/MERGE_HEAD", "x\n");
    rejected("a merge is in progress").await;
    std::fs::remove_file(harness.root().join(".git/MERGE_HEAD")).unwrap();
    let error = clones
        .merge(&harness.root(), "windlass/task-8")
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "branch windlass/task-8: does not exist");
}
