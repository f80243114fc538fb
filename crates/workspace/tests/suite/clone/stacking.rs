//! Clones whose base has the changes of other tasks.

use windlass_tasks::{
    AttemptRef, BaseChange, BaseConflict, BasePart, BaseRequest, Opened, StartPoint, TaskId,
    WorkingCopy, Workspace,
};
use windlass_workspace::Clones;

use super::harness::{Harness, put};

fn at(task: i64, number: u32) -> AttemptRef {
    let task = TaskId::from(task);
    AttemptRef { task, number }
}

fn on(changes: &[BasePart]) -> BaseRequest {
    let changes = changes.iter().map(|part| BaseChange {
        part: part.clone(),
        landed: None,
    });
    BaseRequest {
        changes: changes.collect(),
        ..BaseRequest::default()
    }
}

async fn try_open(
    clones: &Clones,
    harness: &Harness,
    attempt: AttemptRef,
    base: &BaseRequest,
    earlier: Option<&str>,
) -> Opened {
    let project = harness.project();
    let opened = clones.open_on(&project, attempt, base, earlier);
    opened.await.unwrap()
}

async fn open(
    clones: &Clones,
    harness: &Harness,
    attempt: AttemptRef,
    base: &BaseRequest,
    earlier: Option<&str>,
) -> Box<dyn WorkingCopy> {
    match try_open(clones, harness, attempt, base, earlier).await {
        Opened::Copy(copy) => copy,
        Opened::Conflict(conflict) => panic!("{conflict:?}"),
    }
}

async fn conflict(clones: &Clones, harness: &Harness, base: &BaseRequest) -> BaseConflict {
    match try_open(clones, harness, at(9, 1), base, None).await {
        Opened::Copy(copy) => panic!("{copy:?}"),
        Opened::Conflict(conflict) => conflict,
    }
}

/// Publishes a change of one file on this base, and returns it.
async fn change(
    clones: &Clones,
    harness: &Harness,
    attempt: AttemptRef,
    base: &[BasePart],
    (file, text): (&str, &str),
) -> BasePart {
    let copy = open(clones, harness, attempt, &on(base), None).await;
    put(copy.root(), file, text);
    let AttemptRef { task, number } = attempt;
    let message = format!("Change\n\nTask-Id: {task}\nAttempt: {number}\n");
    let commit = copy.commit(message).await.unwrap();
    let files = copy.change_of(&commit).await.unwrap().files;
    assert_eq!(files, [file], "the change is only the task's own");
    let branch = format!("windlass/task-{task}");
    copy.publish(&commit, &branch).await.unwrap();
    copy.keep("kept".to_owned()).await.unwrap();
    copy.close().await.unwrap();
    BasePart {
        task,
        commit: commit.id,
    }
}

fn refs(harness: &Harness) -> String {
    harness.git(&["for-each-ref", "--format=%(refname)", "refs/windlass"])
}

#[tokio::test]
async fn diamond_has_every_change_once() {
    let harness = Harness::new();
    let clones = harness.clones().await;
    let top = change(&clones, &harness, at(1, 1), &[], ("top.txt", "top\n")).await;
    let one = std::slice::from_ref(&top);
    let left = change(&clones, &harness, at(2, 1), one, ("left.txt", "left\n")).await;
    let right = change(&clones, &harness, at(3, 1), one, ("right.txt", "right\n")).await;
    let main = harness.git(&["rev-parse", "main"]);

    let parts = [top.clone(), left.clone(), right.clone()];
    let copy = open(&clones, &harness, at(4, 1), &on(&parts), None).await;
    assert_eq!(copy.base_parts(), parts);
    for (file, text) in [
        ("top.txt", "top\n"),
        ("left.txt", "left\n"),
        ("right.txt", "right\n"),
    ] {
        let found = std::fs::read_to_string(copy.root().join(file)).unwrap();
        assert_eq!(found, text);
    }
    assert!(copy.change().await.unwrap().is_empty());
    let base = copy.base().to_owned();
    for commit in [&main, &top.commit, &left.commit, &right.commit] {
        harness.git(&["merge-base", "--is-ancestor", commit, &base]);
    }
    let merges = format!("{main}..{base}");
    let merges = harness.git(&["rev-list", "--merges", "--count", &merges]);
    assert_eq!(merges, "1", "only the two sides are merged");
    assert!(
        refs(&harness).contains("task-4/base-1"),
        "{}",
        refs(&harness)
    );
    harness.git(&["gc", "-q", "--prune=now"]);
    harness.git(&["cat-file", "-e", &base]);

    // The user's repository has the base after the clone is gone.
    put(copy.root(), "bottom.txt", "bottom\n");
    let commit = copy.commit("Bottom".to_owned()).await.unwrap();
    copy.publish(&commit, "windlass/task-4").await.unwrap();
    copy.close().await.unwrap();
    assert!(!refs(&harness).contains("base-"), "{}", refs(&harness));
    harness.git(&["gc", "-q", "--prune=now"]);
    let parent = format!("{}^", commit.id);
    assert_eq!(harness.git(&["rev-parse", &parent]), base);
    assert_eq!(harness.git(&["rev-parse", "main"]), main);
    assert_eq!(harness.git(&["status", "--porcelain"]), "");

    // The same changes give the same base.
    let copy = open(&clones, &harness, at(5, 1), &on(&parts), None).await;
    assert_eq!(copy.base(), base);
    copy.close().await.unwrap();
}

#[tokio::test]
async fn landed_change_is_not_merged_again() {
    let harness = Harness::new();
    let clones = harness.clones().await;
    let merged = change(&clones, &harness, at(1, 1), &[], ("a.txt", "a\n")).await;
    let picked = change(&clones, &harness, at(2, 1), &[], ("b.txt", "b\n")).await;
    harness.git(&["merge", "-q", "--no-edit", &merged.commit]);
    harness.git(&["cherry-pick", &picked.commit]);
    let main = harness.git(&["rev-parse", "main"]);
    let mut request = on(&[merged, picked]);
    request.changes[1].landed = Some(main.clone());
    let copy = open(&clones, &harness, at(3, 1), &request, None).await;
    assert_eq!(copy.base(), main);
    assert_eq!(copy.base_parts(), []);
    copy.close().await.unwrap();
}

#[tokio::test]
async fn base_follows_its_target() {
    let harness = Harness::new();
    let clones = harness.clones().await;
    harness.git(&["branch", "release"]);
    let one = change(&clones, &harness, at(1, 1), &[], ("a.txt", "a\n")).await;
    harness.write("new.txt", "on main\n");
    let main = harness.commit("second");
    let mut request = on(std::slice::from_ref(&one));
    let copy = open(&clones, &harness, at(2, 1), &request, None).await;
    assert!(copy.root().join("new.txt").exists() && copy.root().join("a.txt").exists());
    harness.git(&["merge-base", "--is-ancestor", &main, copy.base()]);
    copy.close().await.unwrap();
    request.target = Some("release".to_owned());
    let copy = open(&clones, &harness, at(2, 2), &request, None).await;
    assert_eq!(copy.base(), one.commit, "no merge is needed");
    copy.close().await.unwrap();
    request.target = Some("missing".to_owned());
    let project = harness.project();
    let error = clones.open_on(&project, at(2, 3), &request, None);
    let error = error.await.unwrap_err().to_string();
    assert!(
        error.contains("missing") && error.contains("does not exist"),
        "{error}"
    );
    let gone = BasePart {
        task: TaskId::from(8),
        commit: "0123456789".repeat(4),
    };
    let gone = on(&[gone]);
    let project = harness.project();
    let error = clones.open_on(&project, at(2, 4), &gone, None);
    let error = error.await.unwrap_err().to_string();
    assert!(error.contains("the change of task 8"), "{error}");
}

#[tokio::test]
async fn conflict_is_reported_with_both_sides_or_kept_for_an_agent() {
    let harness = Harness::new();
    let clones = harness.clones().await;
    let other = change(&clones, &harness, at(1, 1), &[], ("a.txt", "a\n")).await;
    let two = ("notes.txt", "one\n2\nthree\n");
    let two = change(&clones, &harness, at(2, 1), &[], two).await;
    let second = ("notes.txt", "one\nsecond\nthree\n");
    let second = change(&clones, &harness, at(3, 1), &[], second).await;
    let mut request = on(&[other, two.clone(), second.clone()]);
    let found = conflict(&clones, &harness, &request).await;
    assert_eq!(
        (&found.part, &found.with[..]),
        (&second, &[two.clone()][..])
    );
    assert_eq!(found.files.len(), 1);
    assert_eq!(found.files[0].path, "notes.txt");
    assert_eq!(
        found.files[0].lines,
        "<<<<<<<\n2\n=======\nsecond\n>>>>>>>\n"
    );
    assert!(harness.clone_names().is_empty());

    // A task that merges them starts with both sides in the file, and its base contains both.
    request.keeps_conflicts = true;
    let copy = open(&clones, &harness, at(4, 1), &request, None).await;
    let files = vec!["notes.txt".to_owned()];
    assert_eq!(*copy.start(), StartPoint::Conflict(files));
    let text = std::fs::read_to_string(copy.root().join("notes.txt")).unwrap();
    assert!(
        text.contains("<<<<<<<") && text.contains("second"),
        "{text}"
    );
    for part in [&two, &second] {
        harness.git(&["merge-base", "--is-ancestor", &part.commit, copy.base()]);
    }
    let base_file = format!("{}:notes.txt", copy.base());
    assert_eq!(harness.git(&["show", &base_file]), "one\n2\nthree");
    put(copy.root(), "notes.txt", "one\n2 (second)\nthree\n");
    let commit = copy.commit("Merge".to_owned()).await.unwrap();
    copy.publish(&commit, "windlass/task-4").await.unwrap();
    copy.close().await.unwrap();

    // What depends on it has no conflict any more.
    let merge = BasePart {
        task: TaskId::from(4),
        commit: commit.id.clone(),
    };
    let copy = open(
        &clones,
        &harness,
        at(5, 1),
        &on(&[two, second, merge]),
        None,
    )
    .await;
    assert_eq!(copy.base(), commit.id);
    copy.close().await.unwrap();
}

#[tokio::test]
async fn change_that_conflicts_with_its_target_is_named() {
    let harness = Harness::new();
    let clones = harness.clones().await;
    let two = ("notes.txt", "one\n2\nthree\n");
    let two = change(&clones, &harness, at(1, 1), &[], two).await;
    harness.write("notes.txt", "one\nzwei\nthree\n");
    harness.commit("another word");
    let found = conflict(&clones, &harness, &on(std::slice::from_ref(&two))).await;
    assert_eq!((found.part, found.with), (two, vec![]));
    assert!(found.files[0].lines.contains("zwei"), "{:?}", found.files);
}

#[tokio::test]
async fn own_change_is_applied_to_a_replaced_base() {
    let harness = Harness::new();
    let clones = harness.clones().await;
    let below = ("notes.txt", "ONE\ntwo\nthree\n");
    let old = change(&clones, &harness, at(1, 1), &[], below).await;
    let own = ("src/lib.txt", "library, better\n");
    let own = change(&clones, &harness, at(2, 1), std::slice::from_ref(&old), own).await;
    // The new change does not contain the old one, and edits the same line.
    let below = ("notes.txt", "Eins\ntwo\nthree\n");
    let new = change(&clones, &harness, at(1, 2), &[], below).await;
    let request = on(std::slice::from_ref(&new));
    let copy = open(&clones, &harness, at(2, 2), &request, Some(&own.commit)).await;
    assert_eq!(*copy.start(), StartPoint::Change);
    assert_eq!(copy.base(), new.commit);
    assert_eq!(copy.change().await.unwrap().files, ["src/lib.txt"]);
    let notes = std::fs::read_to_string(copy.root().join("notes.txt")).unwrap();
    assert_eq!(notes, "Eins\ntwo\nthree\n");
    copy.close().await.unwrap();
}
