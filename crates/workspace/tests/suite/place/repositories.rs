//! Repositories of every shape: each works, or one sentence says why not.

use windlass_core::task::Project;
use windlass_core::workspace::Workspace;

use super::world::{BRANCH, World, attempt, git_in, publish};

async fn refusal(world: &World, root: std::path::PathBuf) -> String {
    let project = Project {
        root,
        ..world.project()
    };
    let error = world
        .clones()
        .await
        .open(&project, attempt(1))
        .await
        .unwrap_err();
    assert!(world.places().is_empty(), "{:?}", world.places());
    error.to_string()
}

#[tokio::test]
async fn what_cannot_be_worked_on_is_said_in_one_sentence() {
    let world = World::new();
    let empty = world.at("empty");
    std::fs::create_dir(&empty).unwrap();
    let error = refusal(&world, world.root().join("src")).await;
    assert!(error.contains("lies inside the repository"), "{error}");
    let error = refusal(&world, world.at("missing")).await;
    assert!(error.contains("No such file"), "{error}");
    git_in(&empty, &world.at("home"), &["init", "-q"]);
    let error = refusal(&world, empty.clone()).await;
    assert!(error.contains("there is no commit yet"), "{error}");
    std::fs::remove_dir_all(empty.join(".git")).unwrap();
    std::fs::write(empty.join(".git"), "gitdir: ../nowhere\n").unwrap();
    let error = refusal(&world, empty).await;
    assert!(error.contains("git worktree repair"), "{error}");
}

#[tokio::test]
async fn a_detached_head_a_worktree_and_a_bare_repository_work() {
    let world = World::new();
    world.git(&["checkout", "-q", "--detach"]);
    let home = world.at("home");
    let (tree, bare) = (world.at("tree"), world.at("bare.git"));
    world.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        tree.to_str().unwrap(),
    ]);
    world.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let clones = world.clones().await;
    for (number, root) in [(1, world.root()), (2, tree), (3, bare)] {
        let project = Project {
            root: root.clone(),
            ..world.project()
        };
        let place = clones.open(&project, attempt(number)).await.unwrap();
        let commit = publish(&*place, number, &format!("text {number}\n")).await;
        assert_eq!(git_in(&root, &home, &["rev-parse", BRANCH]), commit.id);
        place.close().await.unwrap();
    }
    let error = clones
        .merge(&world.at("bare.git"), BRANCH)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("has no work tree"), "{error}");
}

#[tokio::test]
async fn sha256_shallow_and_borrowing_repositories_work() {
    let world = World::new();
    world.write("notes.txt", "second\n");
    world.commit("second");
    let home = world.at("home");
    let new = world.at("sha256");
    std::fs::create_dir(&new).unwrap();
    git_in(&new, &home, &["init", "-q", "--object-format=sha256"]);
    super::world::put(&new, "notes.txt", "x\n");
    git_in(&new, &home, &["add", "-A"]);
    git_in(&new, &home, &["commit", "-q", "-m", "first"]);
    let url = format!("file://{}", world.root().display());
    let (shallow, borrower) = (world.at("shallow"), world.at("borrower"));
    world.git(&["clone", "-q", "--depth=1", &url, shallow.to_str().unwrap()]);
    world.git(&["clone", "-q", "--shared", ".", borrower.to_str().unwrap()]);
    let clones = world.clones().await;
    for (number, root) in [(1, new), (2, shallow), (3, borrower)] {
        let project = Project {
            root: root.clone(),
            ..world.project()
        };
        let place = clones.open(&project, attempt(number)).await.unwrap();
        let commit = publish(&*place, number, "changed\n").await;
        assert_eq!(git_in(&root, &home, &["rev-parse", BRANCH]), commit.id);
        git_in(&root, &home, &["fsck"]);
    }
}

#[tokio::test]
async fn a_submodule_stays_as_it_is() {
    let world = World::new();
    let home = world.at("home");
    let other = world.at("other");
    std::fs::create_dir(&other).unwrap();
    git_in(&other, &home, &["init", "-q"]);
    super::world::put(&other, "file", "x\n");
    git_in(&other, &home, &["add", "-A"]);
    git_in(&other, &home, &["commit", "-q", "-m", "x"]);
    let url = other.to_str().unwrap();
    world.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        url,
        "module",
    ]);
    world.commit("module");
    let place = world.open().await;
    let module = place.root().join("module");
    assert!(module.read_dir().unwrap().next().is_none(), "not followed");
    super::world::put(&module, "file", "agent\n");
    git_in(&module, &home, &["init", "-q"]);
    git_in(&module, &home, &["add", "-A"]);
    git_in(&module, &home, &["commit", "-q", "-m", "agent"]);
    assert!(place.change().await.unwrap().is_empty());
}
