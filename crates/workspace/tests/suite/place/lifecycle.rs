//! From an open place to a branch in the user's repository, and nothing else touched.

use std::os::unix::fs::MetadataExt;

use windlass_core::workspace::{FileAction, FileChange, Workspace};

use super::world::{BRANCH, World, attempt, git_in, message, publish, put};

fn file(path: &str, content: &str, action: FileAction) -> FileChange {
    FileChange {
        path: path.into(),
        content: content.into(),
        action,
    }
}

#[tokio::test]
async fn p4_a_change_becomes_one_commit_on_a_branch_and_the_checkout_stays_as_it_was() {
    let world = World::new();
    world.write("notes.txt", "one\ntwo\nthree\nmine, uncommitted\n");
    world.write("untracked.txt", "mine\n");
    let before = world.git(&["status", "--porcelain"]);
    let head = world.git(&["rev-parse", "HEAD"]);

    let place = world.open().await;
    assert_eq!(place.base(), head);
    assert_eq!(place.root().file_name().unwrap(), "project");
    let text = std::fs::read_to_string(place.root().join("notes.txt")).unwrap();
    assert_eq!(
        text, "one\ntwo\nthree\n",
        "the commit, not the uncommitted edit"
    );
    assert!(place.change().await.unwrap().is_empty());

    let files = vec![
        file("notes.txt", "one\n2\nthree\n", FileAction::Modify),
        file("new/deep.txt", "new\n", FileAction::Create),
        file("src/lib.txt", "", FileAction::Delete),
    ];
    let paths = place.apply(files).await.unwrap();
    assert_eq!(paths, ["new/deep.txt", "notes.txt", "src/lib.txt"]);
    let change = place.change().await.unwrap();
    assert_eq!(change.files, paths);
    assert!(change.diff.contains("-two\n+2\n"), "{}", change.diff);

    let commit = place.commit(message(1)).await.unwrap();
    assert_eq!(
        place.commit(message(1)).await.unwrap(),
        commit,
        "the same again"
    );
    place.publish(&commit, BRANCH).await.unwrap();
    place.publish(&commit, BRANCH).await.unwrap();
    place.close().await.unwrap();

    assert_eq!(world.git(&["rev-parse", BRANCH]), commit.id);
    assert_eq!(
        world.git(&["rev-parse", &format!("{BRANCH}^{{tree}}")]),
        commit.tree
    );
    assert_eq!(world.git(&["rev-parse", &format!("{BRANCH}^")]), head);
    let found = world.git(&["log", "--all", "--format=%an <%ae>", "--grep", "Task-Id: 7"]);
    assert_eq!(found, "Windlass <windlass@localhost>");
    assert_eq!(world.git(&["status", "--porcelain"]), before);
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    world.git(&["fsck", "--strict"]);
    assert!(world.places().is_empty(), "{:?}", world.places());
}

#[tokio::test]
async fn an_agents_own_commits_become_part_of_the_one() {
    let world = World::new();
    let place = world.open().await;
    let home = world.at("home");
    for number in 1..=2 {
        put(place.root(), "notes.txt", &format!("agent {number}\n"));
        git_in(place.root(), &home, &["commit", "-q", "-am", "agent"]);
    }
    git_in(place.root(), &home, &["checkout", "-q", "-b", "elsewhere"]);
    let commit = place.commit(message(1)).await.unwrap();
    place.publish(&commit, BRANCH).await.unwrap();
    let log = world.git(&["log", "--format=%s", &format!("main..{BRANCH}")]);
    assert_eq!(log, "Do it");
    assert_eq!(
        world.git(&["show", &format!("{BRANCH}:notes.txt")]),
        "agent 2"
    );
    assert!(!world.git(&["branch", "--all"]).contains("elsewhere"));
}

#[tokio::test]
async fn the_clone_has_history_and_tags_but_neither_settings_nor_branches() {
    let world = World::new();
    world.git(&["tag", "v1.0"]);
    world.git(&["branch", "private"]);
    world.git(&["config", "user.name", "Somebody"]);
    let place = world.open().await;
    let git = |args: &[&str]| git_in(place.root(), &world.at("home"), args);
    assert_eq!(git(&["log", "--format=%s"]), "first");
    assert_eq!(git(&["describe", "--tags"]), "v1.0");
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(git(&["branch", "--format=%(refname:short)"]), "main");
    assert_eq!(git(&["config", "user.name"]), "Windlass");
}

#[tokio::test]
async fn what_tests_leave_behind_is_no_change() {
    let world = World::new();
    world.write("Cargo.toml", "[package]\n");
    world.write(".gitignore", "*.log\n");
    world.commit("more");
    let place = world.open().await;
    for name in [
        "target/debug/x",
        "a/__pycache__/b.pyc",
        "node_modules/m/i.js",
        "run.log",
    ] {
        put(place.root(), name, "by-product");
    }
    std::fs::create_dir(place.root().join(".vscode")).unwrap();
    assert!(place.change().await.unwrap().is_empty());
    assert!(
        !place.root().join(".vscode").exists(),
        "a ghost of the sandbox"
    );
    let error = place.commit(message(1)).await.unwrap_err();
    assert!(error.to_string().contains("nothing differs"), "{error}");
}

#[tokio::test]
async fn a_change_is_applied_whole_or_not_at_all() {
    let world = World::new();
    let place = world.open().await;
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
            "notes.txt: is named twice in one change",
        ),
        (file("src", "x", FileAction::Create), "src: is not a file"),
        // This one shows itself only in the middle of the work.
        (
            file("notes.txt/below", "x", FileAction::Create),
            "notes.txt",
        ),
    ] {
        let deleted = file("src/lib.txt", "", FileAction::Delete);
        let new = file("new.txt", "x", FileAction::Create);
        let error = place
            .apply(vec![good.clone(), deleted, new, bad])
            .await
            .unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
        assert!(place.change().await.unwrap().is_empty(), "{error}");
        assert!(!place.root().join("new.txt").exists());
    }
}

#[tokio::test]
async fn p17_a_generated_path_cannot_leave_the_clone() {
    let world = World::new();
    let place = world.open().await;
    std::os::unix::fs::symlink(world.at("home"), place.root().join("out")).unwrap();
    for path in [
        "../escaped",
        "/etc/escaped",
        "out/escaped",
        "a/../../escaped",
        ".git/hooks/x",
    ] {
        let change = vec![file(path, "x", FileAction::Create)];
        assert!(place.apply(change).await.is_err(), "{path}");
    }
    assert!(!world.at("home/escaped").exists());
}

#[tokio::test]
async fn p4_an_earlier_attempt_is_replaced_and_a_later_one_is_not() {
    let world = World::new();
    let clones = world.clones().await;
    let project = world.project();
    let first = clones.open(&project, attempt(1)).await.unwrap();
    let second = clones.open(&project, attempt(2)).await.unwrap();
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
async fn a_branch_with_other_work_or_in_use_is_left_alone() {
    let world = World::new();
    let place = world.open().await;
    put(place.root(), "notes.txt", "agent\n");
    let commit = place.commit(message(1)).await.unwrap();
    world.git(&["branch", BRANCH]);
    let error = place.publish(&commit, BRANCH).await.unwrap_err();
    assert!(error.to_string().contains("holds other work"), "{error}");

    let elsewhere = world.at("elsewhere");
    world.git(&["worktree", "add", "-q", elsewhere.to_str().unwrap(), BRANCH]);
    let error = place.publish(&commit, BRANCH).await.unwrap_err();
    let expected = format!("is checked out in {}", elsewhere.display());
    assert!(error.to_string().contains(&expected), "{error}");
}

#[tokio::test]
async fn p27_places_are_private_and_swept() {
    let world = World::new();
    let clones = world.clones().await;
    let project = world.project();
    let first = clones.open(&project, attempt(1)).await.unwrap();
    let second = clones.open(&project, attempt(2)).await.unwrap();
    for folder in [first.root(), first.root().parent().unwrap()] {
        assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
    }
    // As after a crash: the places stay, and nobody closes them.
    drop((first, second));
    assert_eq!(clones.remove_stale(&[attempt(2)]).await.unwrap(), 1);
    assert_eq!(world.places(), ["task-7-attempt-2"]);
    let again = clones.open(&project, attempt(2)).await.unwrap();
    assert!(again.change().await.unwrap().is_empty());
}
