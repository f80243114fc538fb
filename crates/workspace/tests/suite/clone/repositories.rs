//! Repositories of every kind: each works, or is rejected with one clear sentence.

use windlass_tasks::{Project, Workspace};

use super::harness::{BRANCH, Harness, attempt, git_in, publish};

async fn open_error(harness: &Harness, root: std::path::PathBuf) -> String {
    let project = Project {
        root,
        ..harness.project()
    };
    let error = harness
        .clones()
        .await
        .open(&project, attempt(1))
        .await
        .unwrap_err();
    assert!(
        harness.clone_names().is_empty(),
        "{:?}",
        harness.clone_names()
    );
    error.to_string()
}

#[tokio::test]
async fn unusable_repositories_are_rejected_with_reason() {
    let harness = Harness::new();
    let empty = harness.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let error = open_error(&harness, harness.root().join("src")).await;
    assert!(error.contains("is inside the repository"), "{error}");
    let error = open_error(&harness, harness.path("missing")).await;
    assert!(error.contains("No such file"), "{error}");
    git_in(&empty, &harness.path("home"), &["init", "-q"]);
    let error = open_error(&harness, empty.clone()).await;
    assert!(error.contains("has no commits"), "{error}");
    std::fs::remove_dir_all(empty.join(".git")).unwrap();
    std::fs::write(empty.join(".git"), "gitdir: ../nowhere\n").unwrap();
    let error = open_error(&harness, empty).await;
    assert!(error.contains("git worktree repair"), "{error}");
}

#[tokio::test]
async fn detached_head_worktree_and_bare_repository_work() {
    let harness = Harness::new();
    harness.git(&["checkout", "-q", "--detach"]);
    let home = harness.path("home");
    let (tree, bare) = (harness.path("tree"), harness.path("bare.git"));
    harness.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        tree.to_str().unwrap(),
    ]);
    harness.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let clones = harness.clones().await;
    for (number, root) in [(1, harness.root()), (2, tree), (3, bare)] {
        let project = Project {
            root: root.clone(),
            ..harness.project()
        };
        let clone = clones.open(&project, attempt(number)).await.unwrap();
        let commit = publish(&*clone, number, &format!("text {number}\n")).await;
        assert_eq!(git_in(&root, &home, &["rev-parse", BRANCH]), commit.id);
        clone.close().await.unwrap();
    }
    let error = clones
        .merge(&harness.path("bare.git"), BRANCH)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("has no work tree"), "{error}");
}

#[tokio::test]
async fn sha256_shallow_and_borrowing_repositories_work() {
    let harness = Harness::new();
    harness.write("notes.txt", "second\n");
    harness.commit("second");
    let home = harness.path("home");
    let new = harness.path("sha256");
    std::fs::create_dir(&new).unwrap();
    git_in(&new, &home, &["init", "-q", "--object-format=sha256"]);
    super::harness::put(&new, "notes.txt", "x\n");
    git_in(&new, &home, &["add", "-A"]);
    git_in(&new, &home, &["commit", "-q", "-m", "first"]);
    let url = format!("file://{}", harness.root().display());
    let (shallow, borrower) = (harness.path("shallow"), harness.path("borrower"));
    harness.git(&["clone", "-q", "--depth=1", &url, shallow.to_str().unwrap()]);
    harness.git(&["clone", "-q", "--shared", ".", borrower.to_str().unwrap()]);
    let clones = harness.clones().await;
    for (number, root) in [(1, new), (2, shallow), (3, borrower)] {
        let project = Project {
            root: root.clone(),
            ..harness.project()
        };
        let clone = clones.open(&project, attempt(number)).await.unwrap();
        let commit = publish(&*clone, number, "changed\n").await;
        assert_eq!(git_in(&root, &home, &["rev-parse", BRANCH]), commit.id);
        git_in(&root, &home, &["fsck"]);
    }
}

#[tokio::test]
async fn submodule_is_not_changed() {
    let harness = Harness::new();
    let home = harness.path("home");
    let other = harness.path("other");
    std::fs::create_dir(&other).unwrap();
    git_in(&other, &home, &["init", "-q"]);
    super::harness::put(&other, "file", "x\n");
    git_in(&other, &home, &["add", "-A"]);
    git_in(&other, &home, &["commit", "-q", "-m", "x"]);
    let url = other.to_str().unwrap();
    harness.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        url,
        "module",
    ]);
    harness.commit("module");
    let clone = harness.open().await;
    let module = clone.root().join("module");
    assert!(module.read_dir().unwrap().next().is_none(), "not followed");
    super::harness::put(&module, "file", "agent\n");
    git_in(&module, &home, &["init", "-q"]);
    git_in(&module, &home, &["add", "-A"]);
    git_in(&module, &home, &["commit", "-q", "-m", "agent"]);
    assert!(clone.change().await.unwrap().is_empty());
}
