//! The change of an attempt is kept, however the attempt ended, and the next one continues from it.

use std::time::Duration;

use windlass_tasks::{AttemptRef, StartPoint, WorkingCopy, Workspace};
use windlass_workspace::{Clones, Retention};

use super::harness::{BRANCH, Harness, attempt, message, publish, put};

const STORE: &str = "0a1b2c3d";

fn ref_name(number: u32) -> String {
    format!("refs/windlass/{STORE}/task-7/attempt-{number}")
}

async fn clones(harness: &Harness) -> Clones {
    harness.clones().await.with_store(STORE)
}

async fn keep(clone: &dyn WorkingCopy) -> Option<String> {
    let kept = clone.keep("Change of task 7\n".to_owned()).await.unwrap();
    kept.map(|commit| commit.id)
}

/// Opens all clones that no process uses.
async fn stale(clones: &Clones) -> Vec<(AttemptRef, Box<dyn WorkingCopy>)> {
    clones.stale(&|_| false).await.unwrap()
}

#[tokio::test]
async fn p29_change_is_kept_as_a_ref_on_the_base() {
    let harness = Harness::new();
    let clones = clones(&harness).await;
    let clone = clones
        .open(&harness.project(), attempt(1), None)
        .await
        .unwrap();
    assert_eq!(keep(&*clone).await, None, "nothing was changed");
    put(clone.root(), "notes.txt", "agent\n");
    put(clone.root(), "new.txt", "new\n");
    put(clone.root(), "node_modules/x.js", "artifact\n");
    let commit = keep(&*clone).await.unwrap();
    assert_eq!(keep(&*clone).await.as_ref(), Some(&commit), "repeated");
    assert_eq!(harness.git(&["rev-parse", &ref_name(1)]), commit);
    let parent = harness.git(&["rev-parse", &format!("{commit}^")]);
    assert_eq!(parent, clone.base());
    let diff = clones.kept_diff(&harness.root(), &commit).await.unwrap();
    assert!(diff.contains("+agent") && diff.contains("+new"), "{diff}");
    assert!(!diff.contains("artifact"), "{diff}");
    // Neither the checkout nor the branches have changed, and a clone does not get the ref.
    assert_eq!(harness.git(&["status", "--porcelain"]), "");
    assert_eq!(
        harness.git(&["branch", "--format=%(refname:short)"]),
        "main"
    );
    let copy = harness.path("copy");
    harness.git(&["clone", "-q", "--no-local", ".", copy.to_str().unwrap()]);
    let refs = super::harness::git_in(&copy, &harness.path("home"), &["for-each-ref"]);
    assert!(!refs.contains("refs/windlass"), "{refs}");
    // It survives a garbage collection.
    harness.git(&["gc", "-q", "--prune=now"]);
    assert!(clones.kept_diff(&harness.root(), &commit).await.is_ok());
}

#[tokio::test]
async fn p29_published_change_is_kept_as_the_published_commit() {
    let harness = Harness::new();
    let clones = clones(&harness).await;
    let clone = clones
        .open(&harness.project(), attempt(1), None)
        .await
        .unwrap();
    let published = publish(&*clone, 1, "agent\n").await;
    // Together with the branch, so that no crash can come in between.
    assert_eq!(harness.git(&["rev-parse", &ref_name(1)]), published.id);
    put(clone.root(), "notes.txt", "written after the tests\n");
    assert_eq!(keep(&*clone).await, Some(published.id));
}

#[tokio::test]
async fn p29_ref_in_the_way_of_a_kept_change_does_not_prevent_publishing() {
    let harness = Harness::new();
    let clones = clones(&harness).await;
    let clone = clones
        .open(&harness.project(), attempt(1), None)
        .await
        .unwrap();
    harness.git(&["update-ref", &ref_name(1), "main"]);
    let published = publish(&*clone, 1, "agent\n").await;
    assert_eq!(harness.git(&["rev-parse", BRANCH]), published.id);
    assert_eq!(keep(&*clone).await.as_ref(), Some(&published.id));
    let other = harness.git(&["rev-parse", "main"]);
    assert_eq!(harness.git(&["rev-parse", &ref_name(1)]), other);
    let longer = format!("{}-{}", ref_name(1), &published.id[..10]);
    assert_eq!(harness.git(&["rev-parse", &longer]), published.id);
}

#[tokio::test]
async fn p29_change_of_a_killed_attempt_is_found() {
    let harness = Harness::new();
    let clones = clones(&harness).await;
    let clone = clones
        .open(&harness.project(), attempt(1), None)
        .await
        .unwrap();
    put(clone.root(), "notes.txt", "agent\n");
    // Git was killed in the middle: its lock is still there.
    let meta = clone.root().parent().unwrap().join(".meta/git");
    put(&meta, "index.lock", "");
    put(&meta, "keep-index.lock", "");
    assert!(stale(&clones).await.is_empty(), "the clone is in use");
    drop(clone);
    let found = stale(&clones).await;
    assert_eq!(found.len(), 1);
    assert!(stale(&clones).await.is_empty(), "one process at a time");
    let first = keep(&*found[0].1).await.unwrap();
    drop(found);
    // The process was killed before it removed the clone: the same commit is found again.
    let (at, copy) = stale(&clones).await.pop().unwrap();
    assert_eq!(at, attempt(1));
    assert_eq!(keep(&*copy).await, Some(first));
    copy.close().await.unwrap();
    assert_eq!(harness.clone_names(), Vec::<String>::new());
}

#[tokio::test]
async fn p29_next_attempt_starts_from_the_kept_change() {
    let harness = Harness::new();
    let clones = clones(&harness).await;
    let project = harness.project();
    let first = clones.open(&project, attempt(1), None).await.unwrap();
    assert_eq!(*first.start(), StartPoint::Base);
    put(first.root(), "notes.txt", "agent\n");
    put(first.root(), "new.txt", "new\n");
    std::fs::remove_file(first.root().join("src/lib.txt")).unwrap();
    let kept = keep(&*first).await.unwrap();

    let second = clones
        .open(&project, attempt(2), Some(&kept))
        .await
        .unwrap();
    assert_eq!(*second.start(), StartPoint::Change);
    assert_eq!(second.base(), first.base(), "it is judged against the base");
    let change = second.change().await.unwrap();
    assert_eq!(change.files, ["new.txt", "notes.txt", "src/lib.txt"]);
    let home = harness.path("home");
    let status = super::harness::git_in(second.root(), &home, &["status", "--porcelain"]);
    assert_eq!(status.lines().count(), 3, "{status}");
    assert_eq!(keep(&*second).await, None, "it has changed nothing itself");
    put(second.root(), "new.txt", "better\n");
    let better = keep(&*second).await.unwrap();
    let diff = clones.kept_diff(&harness.root(), &better).await.unwrap();
    assert!(
        diff.contains("+better") && diff.contains("+agent"),
        "{diff}"
    );
    let commit = second.commit(message(2)).await.unwrap();
    second.publish(&commit, BRANCH).await.unwrap();
}

#[tokio::test]
async fn p29_kept_change_is_merged_with_a_newer_base_or_left_out() {
    let harness = Harness::new();
    let clones = clones(&harness).await;
    let project = harness.project();
    let first = clones.open(&project, attempt(1), None).await.unwrap();
    put(first.root(), "notes.txt", "agent\ntwo\nthree\n");
    let kept = keep(&*first).await.unwrap();

    harness.write("src/lib.txt", "user\n");
    let base = harness.commit("second");
    let second = clones
        .open(&project, attempt(2), Some(&kept))
        .await
        .unwrap();
    assert_eq!(*second.start(), StartPoint::Change);
    assert_eq!(second.base(), base);
    assert_eq!(second.change().await.unwrap().files, ["notes.txt"]);

    harness.write("notes.txt", "user\ntwo\nthree\n");
    harness.commit("third");
    let third = clones
        .open(&project, attempt(3), Some(&kept))
        .await
        .unwrap();
    let conflict = "it conflicts with the base in notes.txt".to_owned();
    assert_eq!(*third.start(), StartPoint::NotApplied(conflict));
    assert!(third.change().await.unwrap().is_empty());

    for (missing, why) in [
        ("1".repeat(40), "its commit is not in this repository"),
        ("--output=x".to_owned(), "its commit is not valid"),
    ] {
        let clone = clones
            .open(&project, attempt(4), Some(&missing))
            .await
            .unwrap();
        assert_eq!(*clone.start(), StartPoint::NotApplied(why.to_owned()));
        clone.close().await.unwrap();
    }
}

#[tokio::test]
async fn p29_existing_ref_is_never_overwritten() {
    let harness = Harness::new();
    let clones = clones(&harness).await;
    // A copy of the store made another attempt with the same number.
    let other = harness.git(&["commit-tree", "-m", "other", "HEAD^{tree}"]);
    harness.git(&["update-ref", &ref_name(1), &other]);
    let clone = clones
        .open(&harness.project(), attempt(1), None)
        .await
        .unwrap();
    put(clone.root(), "notes.txt", "agent\n");
    let commit = keep(&*clone).await.unwrap();
    assert_eq!(harness.git(&["rev-parse", &ref_name(1)]), other);
    let longer = format!("{}-{}", ref_name(1), &commit[..10]);
    assert_eq!(harness.git(&["rev-parse", &longer]), commit);

    // Another store has other names.
    let second = harness.clones().await.with_store("ffffffff");
    drop(clone);
    for (_, copy) in stale(&second).await {
        copy.close().await.unwrap();
    }
    let clone = second
        .open(&harness.project(), attempt(1), None)
        .await
        .unwrap();
    put(clone.root(), "notes.txt", "second\n");
    keep(&*clone).await.unwrap();
    assert_eq!(harness.git(&["rev-parse", &longer]), commit);
}

#[tokio::test]
async fn p29_unwritable_refs_are_reported_and_the_change_is_kept_later() {
    let harness = Harness::new();
    let clones = clones(&harness).await;
    let clone = clones
        .open(&harness.project(), attempt(1), None)
        .await
        .unwrap();
    put(clone.root(), "notes.txt", "agent\n");
    // A directory cannot be created where a file is.
    let refs = harness.root().join(".git/refs/windlass");
    std::fs::write(&refs, "x").unwrap();
    let error = clone.keep("Change\n".to_owned()).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("cannot be kept as refs/windlass"),
        "{error}"
    );
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    drop(clone);
    std::fs::remove_file(refs).unwrap();
    let (_, copy) = stale(&clones).await.pop().unwrap();
    assert!(keep(&*copy).await.is_some());
}

#[tokio::test]
async fn p29_lock_of_a_killed_process_does_not_prevent_keeping() {
    let harness = Harness::new();
    let clones = clones(&harness).await;
    let clone = clones
        .open(&harness.project(), attempt(1), None)
        .await
        .unwrap();
    put(clone.root(), "notes.txt", "agent\n");
    harness.write(&format!(".git/{}.lock", ref_name(1)), "");
    assert!(keep(&*clone).await.is_some());
}

#[tokio::test]
async fn old_and_surplus_changes_are_pruned() {
    let harness = Harness::new();
    let retention = Retention {
        max_count: 3,
        ..Retention::default()
    };
    let clones = clones(&harness).await.with_retention(retention);
    let user_ref = "refs/windlass/other/task-7/attempt-1";
    harness.git(&["update-ref", user_ref, "HEAD"]);
    for number in 1..=5 {
        let clone = clones
            .open(&harness.project(), attempt(number), None)
            .await
            .unwrap();
        put(clone.root(), "notes.txt", &format!("{number}\n"));
        keep(&*clone).await.unwrap();
        clone.close().await.unwrap();
    }
    let refs = || harness.git(&["for-each-ref", "--format=%(refname)", "refs/windlass"]);
    assert_eq!(refs().lines().count(), 1 + 3, "{}", refs());
    assert!(refs().contains(user_ref), "{}", refs());
    let retention = Retention {
        max_age: Duration::ZERO,
        ..retention
    };
    let clones = clones.with_retention(retention);
    let commit = harness.git(&["rev-parse", "HEAD"]);
    let missing = "2".repeat(40);
    let error = clones
        .kept_diff(&harness.root(), &missing)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("is not in this repository"),
        "{error}"
    );
    assert!(
        clones.kept_diff(&harness.root(), &commit).await.is_err(),
        "no parent"
    );
}

#[tokio::test]
async fn expired_clones_are_removed_without_keeping() {
    let harness = Harness::new();
    let clones = clones(&harness).await;
    let clone = clones
        .open(&harness.project(), attempt(1), None)
        .await
        .unwrap();
    put(clone.root(), "notes.txt", "agent\n");
    let dir = clone.root().parent().unwrap().to_owned();
    drop(clone);
    let long_ago = std::fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
    std::fs::File::open(&dir)
        .unwrap()
        .set_times(long_ago)
        .unwrap();
    assert!(stale(&clones).await.is_empty());
    assert!(!dir.exists());
}
