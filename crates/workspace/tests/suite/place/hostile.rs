//! Repositories and clones that would have git run something.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use windlass_core::workspace::Workspace;
use windlass_sandbox::Mechanism;
use windlass_workspace::MergeOutcome;

use super::world::{BRANCH, World, attempt, git_in, message, put};

/// A program that leaves a mark when it is run.
fn trap(world: &World) -> String {
    let path = world.at("trap.sh");
    let canary = world.at("canary");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", canary.display());
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Settings and hooks that start it, whichever way git lets a repository do so.
fn spring(git_dir: &Path, trap: &str) {
    let aliases = [
        "add",
        "status",
        "diff-tree",
        "read-tree",
        "update-ref",
        "rev-parse",
    ];
    let aliases: String = aliases.map(|name| format!("\t{name} = !{trap}\n")).concat();
    let settings = format!(
        "[core]\n\tfsmonitor = {trap}\n\tpager = {trap}\n\teditor = {trap}\n\tsshCommand = {trap}\n\
         \tattributesFile = {attributes}\n\taskPass = {trap}\n\talternateRefsCommand = {trap}\n\
         [filter \"evil\"]\n\tclean = {trap}\n\tsmudge = {trap}\n\trequired = true\n\
         [filter \"worse\"]\n\tprocess = {trap}\n\
         [diff]\n\texternal = {trap}\n[diff \"evil\"]\n\tcommand = {trap}\n\ttextconv = {trap}\n\
         [merge \"evil\"]\n\tdriver = {trap} %A\n\
         [credential]\n\thelper = !{trap}\n[gpg]\n\tprogram = {trap}\n[commit]\n\tgpgSign = true\n\
         [uploadpack]\n\tpackObjectsHook = {trap}\n[alias]\n{aliases}\
         [include]\n\tpath = {included}\n",
        attributes = git_dir.join("attributes").display(),
        included = git_dir.join("included").display(),
    );
    put(
        git_dir,
        "attributes",
        "* filter=evil diff=evil merge=evil\n",
    );
    put(
        git_dir,
        "included",
        &format!(
            "[core]\n\thooksPath = {}\n",
            git_dir.join("hooks").display()
        ),
    );
    let config = std::fs::read_to_string(git_dir.join("config")).unwrap_or_default();
    std::fs::write(git_dir.join("config"), config + &settings).unwrap();
    for hook in [
        "pre-commit",
        "post-commit",
        "post-checkout",
        "post-merge",
        "pre-merge-commit",
        "reference-transaction",
        "post-index-change",
        "post-update",
        "pre-auto-gc",
    ] {
        put(
            git_dir,
            &format!("hooks/{hook}"),
            &format!("#!/bin/sh\n{trap} </dev/null\n"),
        );
        let path = git_dir.join("hooks").join(hook);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// The whole life of a change, in a repository that is hostile, in a clone that becomes so.
async fn live(world: &World, mechanism: Mechanism) {
    let clones = world.clones_with(mechanism).await;
    let trap = trap(world);
    spring(&world.root().join(".git"), &trap);
    let place = clones.open(&world.project(), attempt(1)).await.unwrap();
    // The agent turns its clone's own git folder against us.
    spring(&place.root().join(".git"), &trap);
    put(
        place.root(),
        ".gitattributes",
        "* filter=worse diff=evil merge=evil\n",
    );
    put(place.root(), "notes.txt", "one\n2\nthree\n");
    // A repository inside, which git would look into with its own settings.
    std::fs::create_dir(place.root().join("inner")).unwrap();
    let home = world.at("home");
    git_in(&place.root().join("inner"), &home, &["init", "-q"]);
    put(place.root(), "inner/file", "x");
    git_in(&place.root().join("inner"), &home, &["add", "-A"]);
    git_in(
        &place.root().join("inner"),
        &home,
        &["commit", "-q", "-m", "x"],
    );
    put(place.root(), "inner/file", "y");
    spring(&place.root().join("inner/.git"), &trap);

    let change = place.change().await.unwrap();
    assert_eq!(change.files, [".gitattributes", "notes.txt"]);
    let commit = place.commit(message(1)).await.unwrap();
    place.publish(&commit, BRANCH).await.unwrap();
    let merge = clones.merge(&world.root(), BRANCH).await.unwrap();
    assert!(matches!(merge, MergeOutcome::Merged(_)), "{merge:?}");
    assert_eq!(world.read("notes.txt"), "one\n2\nthree\n");
    place.close().await.unwrap();
    let run = std::fs::read_to_string(world.at("canary")).unwrap_or_default();
    assert_eq!(run, "", "something of the repository's was run");
}

#[tokio::test]
async fn p20_nothing_that_a_repository_names_is_run() {
    live(&World::with_plain_path(), Mechanism::Bubblewrap).await;
    live(&World::with_plain_path(), Mechanism::Landlock).await;
}

#[tokio::test]
async fn p20_nothing_that_a_repository_names_is_run_even_without_walls() {
    live(&World::with_plain_path(), Mechanism::None).await;
}

#[tokio::test]
async fn p20_the_traps_of_these_tests_would_spring() {
    let world = World::with_plain_path();
    let trap = trap(&world);
    spring(&world.root().join(".git"), &trap);
    world.write("notes.txt", "changed\n");
    // As a user would see it, to know that the tests above test something.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.git(&["status"])));
    let run = std::fs::read_to_string(world.at("canary")).unwrap();
    assert!(!run.is_empty());
}

#[tokio::test]
async fn p21_a_file_or_a_folder_is_never_a_flag() {
    let world = World::new();
    let place = world.open().await;
    for name in ["--exec=x", "-rf", ":(glob)*", "a\nb", "ä ö", "--", "-p/-q"] {
        put(place.root(), name, "text\n");
    }
    let change = place.change().await.unwrap();
    assert_eq!(change.files.len(), 7, "{:?}", change.files);
    let commit = place.commit("--amend\n".into()).await.unwrap();
    place.publish(&commit, BRANCH).await.unwrap();
    assert_eq!(world.git(&["show", &format!("{BRANCH}:-rf")]), "text");
    for branch in ["--delete", "-D", "main:other", "../HEAD"] {
        assert!(place.publish(&commit, branch).await.is_err(), "{branch}");
    }
}
