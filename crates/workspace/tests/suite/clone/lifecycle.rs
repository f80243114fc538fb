//! From an open clone to a branch in the user's repository, without touching anything else.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use windlass_sandbox::{Host, Mechanism, Sandbox};
use windlass_tasks::{FileAction, FileChange, Workspace};
use windlass_workspace::Clones;

use super::harness::{BRANCH, Harness, attempt, git_in, message, publish, put};

fn file(path: &str, content: &str, action: FileAction) -> FileChange {
    FileChange {
        path: path.into(),
        content: content.into(),
        action,
    }
}

#[tokio::test]
async fn p4_change_becomes_one_commit_and_checkout_is_unchanged() {
    let harness = Harness::new();
    harness.write("notes.txt", "one\ntwo\nthree\nmine, uncommitted\n");
    harness.write("untracked.txt", "mine\n");
    let before = harness.git(&["status", "--porcelain"]);
    let head = harness.git(&["rev-parse", "HEAD"]);

    let clone = harness.open().await;
    assert_eq!(clone.base(), head);
    assert_eq!(clone.root().file_name().unwrap(), "project");
    let text = std::fs::read_to_string(clone.root().join("notes.txt")).unwrap();
    assert_eq!(
        text, "one\ntwo\nthree\n",
        "the commit, not the uncommitted edit"
    );
    assert!(clone.change().await.unwrap().is_empty());

    let files = vec![
        file("notes.txt", "one\n2\nthree\n", FileAction::Modify),
        file("new/deep.txt", "new\n", FileAction::Create),
        file("src/lib.txt", "", FileAction::Delete),
    ];
    let paths = clone.apply(files).await.unwrap();
    assert_eq!(paths, ["new/deep.txt", "notes.txt", "src/lib.txt"]);
    let change = clone.change().await.unwrap();
    assert_eq!(change.files, paths);
    assert!(change.diff.contains("-two\n+2\n"), "{}", change.diff);

    let commit = clone.commit(message(1)).await.unwrap();
    assert_eq!(
        clone.commit(message(1)).await.unwrap(),
        commit,
        "the same content is the same commit"
    );
    clone.publish(&commit, BRANCH).await.unwrap();
    clone.publish(&commit, BRANCH).await.unwrap();
    clone.close().await.unwrap();

    assert_eq!(harness.git(&["rev-parse", BRANCH]), commit.id);
    assert_eq!(
        harness.git(&["rev-parse", &format!("{BRANCH}^{{tree}}")]),
        commit.tree
    );
    assert_eq!(harness.git(&["rev-parse", &format!("{BRANCH}^")]), head);
    let found = harness.git(&["log", "--all", "--format=%an <%ae>", "--grep", "Task-Id: 7"]);
    assert_eq!(found, "Windlass <windlass@localhost>");
    assert_eq!(harness.git(&["status", "--porcelain"]), before);
    assert_eq!(harness.git(&["rev-parse", "HEAD"]), head);
    harness.git(&["fsck", "--strict"]);
    assert!(
        harness.clone_names().is_empty(),
        "{:?}",
        harness.clone_names()
    );
}

#[tokio::test]
async fn p4_small_change_is_published_as_loose_objects_and_a_large_one_as_a_pack() {
    let harness = Harness::new();
    let packs = || {
        let entries = std::fs::read_dir(harness.root().join(".git/objects/pack")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|ext| ext == "pack"))
            .count()
    };
    let clone = harness.open().await;
    let small = publish(&*clone, 1, "small\n").await;
    assert_eq!(packs(), 0);
    for number in 0..60 {
        put(clone.root(), &format!("many/{number}.txt"), "content\n");
    }
    let large = clone.commit(message(2)).await.unwrap();
    clone.publish(&large, BRANCH).await.unwrap();
    assert_eq!(packs(), 1);
    // Nothing is borrowed from the clone.
    clone.close().await.unwrap();
    harness.git(&["fsck", "--strict", &small.id, &large.id]);
    let file = harness.git(&["show", &format!("{}:notes.txt", small.id)]);
    assert_eq!(file, "small");
}

#[tokio::test]
async fn agent_commits_are_squashed_into_one() {
    let harness = Harness::new();
    let clone = harness.open().await;
    let home = harness.path("home");
    for number in 1..=2 {
        put(clone.root(), "notes.txt", &format!("agent {number}\n"));
        git_in(clone.root(), &home, &["commit", "-q", "-am", "agent"]);
    }
    git_in(clone.root(), &home, &["checkout", "-q", "-b", "elsewhere"]);
    let commit = clone.commit(message(1)).await.unwrap();
    clone.publish(&commit, BRANCH).await.unwrap();
    let log = harness.git(&["log", "--format=%s", &format!("main..{BRANCH}")]);
    assert_eq!(log, "Do it");
    assert_eq!(
        harness.git(&["show", &format!("{BRANCH}:notes.txt")]),
        "agent 2"
    );
    assert!(!harness.git(&["branch", "--all"]).contains("elsewhere"));
}

#[tokio::test]
async fn clone_has_history_and_tags_but_no_settings_or_branches() {
    let harness = Harness::new();
    harness.git(&["tag", "v1.0"]);
    harness.git(&["branch", "private"]);
    harness.git(&["config", "user.name", "Someone"]);
    let clone = harness.open().await;
    let git = |args: &[&str]| git_in(clone.root(), &harness.path("home"), args);
    assert_eq!(git(&["log", "--format=%s"]), "first");
    assert_eq!(git(&["describe", "--tags"]), "v1.0");
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(git(&["branch", "--format=%(refname:short)"]), "main");
    assert_eq!(git(&["config", "user.name"]), "Windlass");
}

/// The last commit of an attempt asks only whether a file changed after the tests.
#[tokio::test]
async fn commit_of_unchanged_files_starts_no_program() {
    let harness = Harness::with_plain_path();
    let (programs, log) = (harness.path("home/programs"), harness.path("home/log"));
    let path = std::env::var("PATH").unwrap();
    let git = std::env::split_paths(&path).map(|dir| dir.join("git"));
    let git = git.into_iter().find(|git| git.is_file()).unwrap();
    let (git, log_path) = (git.display(), log.display());
    let script = format!("#!/bin/sh\necho x >> {log_path}\nexec {git} \"$@\"\n");
    put(&programs, "git", &script);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(programs.join("git"), mode).unwrap();
    let home = harness.path("home");
    let host = Host::new([
        ("HOME", home.to_str().unwrap()),
        ("PATH", &format!("{}:{path}", programs.display())),
    ]);
    let sandbox = Sandbox::with_mechanism(host, Mechanism::None).await;
    let clones = Clones::new(sandbox.unwrap(), harness.path("clones")).unwrap();
    let clone = clones.open(&harness.project(), attempt(1), None).await;
    let clone = clone.unwrap();
    let started = || std::fs::read_to_string(&log).unwrap().lines().count();

    put(clone.root(), "notes.txt", "new\n");
    let commit = clone.commit(message(1)).await.unwrap();
    let before = started();
    // What an agent does to its own git directory is not part of the change.
    put(clone.root(), ".git/description", "mine\n");
    assert_eq!(clone.commit(message(1)).await.unwrap(), commit);
    assert_eq!(started(), before);

    put(clone.root(), "notes.txt", "bad\n");
    let edited = clone.commit(message(1)).await.unwrap();
    assert_ne!(edited.tree, commit.tree);
    assert!(started() > before);
}

#[tokio::test]
async fn test_artifacts_are_not_part_of_the_change() {
    let harness = Harness::new();
    harness.write("Cargo.toml", "[package]\n");
    harness.write(".gitignore", "*.log\n");
    harness.commit("more");
    let clone = harness.open().await;
    for name in [
        "target/debug/x",
        "a/__pycache__/b.pyc",
        "node_modules/m/i.js",
        "run.log",
    ] {
        put(clone.root(), name, "artifact");
    }
    std::fs::create_dir(clone.root().join(".vscode")).unwrap();
    assert!(clone.change().await.unwrap().is_empty());
    assert!(
        !clone.root().join(".vscode").exists(),
        "a mount point of the sandbox"
    );
    let commit = clone.commit(message(1)).await.unwrap();
    assert_eq!(commit.id, clone.base());
    let error = clone.publish(&commit, BRANCH).await.unwrap_err();
    assert!(error.to_string().contains("nothing differs"), "{error}");
}

#[tokio::test]
async fn change_is_applied_completely_or_not_at_all() {
    let harness = Harness::new();
    let clone = harness.open().await;
    let good = file("notes.txt", "changed\n", FileAction::Modify);
    for (bad, problem) in [
        (
            file("nowhere.txt", "x", FileAction::Modify),
            "nowhere.txt: cannot be modified: no such file",
        ),
        (
            file("nowhere.txt", "", FileAction::Delete),
            "nowhere.txt: cannot be deleted: no such file",
        ),
        (
            file("notes.txt", "x", FileAction::Modify),
            "notes.txt: occurs twice in one change",
        ),
        (file("src", "x", FileAction::Create), "src: is not a file"),
        // This one fails only after other changes were made.
        (
            file("notes.txt/below", "x", FileAction::Create),
            "notes.txt",
        ),
    ] {
        let deleted = file("src/lib.txt", "", FileAction::Delete);
        let new = file("new.txt", "x", FileAction::Create);
        let error = clone
            .apply(vec![good.clone(), deleted, new, bad])
            .await
            .unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
        assert!(clone.change().await.unwrap().is_empty(), "{error}");
        assert!(!clone.root().join("new.txt").exists());
    }
}

#[tokio::test]
async fn p17_generated_paths_cannot_leave_the_clone() {
    let harness = Harness::new();
    let clone = harness.open().await;
    std::os::unix::fs::symlink(harness.path("home"), clone.root().join("out")).unwrap();
    for path in [
        "../escaped",
        "/etc/escaped",
        "out/escaped",
        "a/../../escaped",
        ".git/hooks/x",
    ] {
        let change = vec![file(path, "x", FileAction::Create)];
        assert!(clone.apply(change).await.is_err(), "{path}");
    }
    assert!(!harness.path("home/escaped").exists());
}

#[tokio::test]
async fn p4_earlier_attempt_is_replaced_and_later_one_is_not() {
    let harness = Harness::new();
    let clones = harness.clones().await;
    let project = harness.project();
    let first = clones.open(&project, attempt(1), None).await.unwrap();
    let second = clones.open(&project, attempt(2), None).await.unwrap();
    let early = publish(&*first, 1, "first\n").await;
    assert_eq!(
        clones.branch_commit(&project, BRANCH).await.unwrap(),
        Some(early.id)
    );
    let late = publish(&*second, 2, "second\n").await;
    put(first.root(), "notes.txt", "first again\n");
    let commit = first.commit(message(1)).await.unwrap();
    let error = first.publish(&commit, BRANCH).await.unwrap_err();
    assert!(
        error.to_string().contains("superseded: attempt 2"),
        "{error}"
    );
    assert_eq!(
        clones.branch_commit(&project, BRANCH).await.unwrap(),
        Some(late.id)
    );
    assert_eq!(
        clones
            .branch_commit(&project, "windlass/task")
            .await
            .unwrap(),
        None
    );
}

#[tokio::test]
async fn branch_with_other_work_or_checked_out_is_not_replaced() {
    let harness = Harness::new();
    let clone = harness.open().await;
    put(clone.root(), "notes.txt", "agent\n");
    let commit = clone.commit(message(1)).await.unwrap();
    harness.git(&["branch", BRANCH]);
    let error = clone.publish(&commit, BRANCH).await.unwrap_err();
    assert!(error.to_string().contains("contains other work"), "{error}");

    let elsewhere = harness.path("elsewhere");
    harness.git(&["worktree", "add", "-q", elsewhere.to_str().unwrap(), BRANCH]);
    let error = clone.publish(&commit, BRANCH).await.unwrap_err();
    let expected = format!("is checked out in {}", elsewhere.display());
    assert!(error.to_string().contains(&expected), "{error}");
}

#[tokio::test]
async fn p27_clones_are_private_and_stale_ones_removed() {
    let harness = Harness::new();
    let clones = harness.clones().await;
    let project = harness.project();
    let first = clones.open(&project, attempt(1), None).await.unwrap();
    let second = clones.open(&project, attempt(2), None).await.unwrap();
    for dir in [first.root(), first.root().parent().unwrap()] {
        assert_eq!(dir.metadata().unwrap().mode() & 0o777, 0o700);
    }
    // As after a crash: the clones stay, and no process closes them.
    drop((first, second));
    let stale = clones.stale(&|found| found == attempt(2)).await.unwrap();
    for (found, copy) in stale {
        assert_eq!(found, attempt(1));
        copy.close().await.unwrap();
    }
    assert_eq!(harness.clone_names(), ["task-7-attempt-2"]);
    let again = clones.open(&project, attempt(2), None).await.unwrap();
    assert!(again.change().await.unwrap().is_empty());
}
