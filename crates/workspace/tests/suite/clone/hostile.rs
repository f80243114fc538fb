//! Repositories and clones that try to make git execute programs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use windlass_sandbox::Mechanism;
use windlass_tasks::{StartPoint, Workspace};
use windlass_workspace::{MergeOutcome, Retention};

use super::harness::{BRANCH, Harness, attempt, git_in, message, put};

/// Creates a program that writes to a file when it is run.
fn trap(harness: &Harness) -> String {
    let path = harness.path("trap.sh");
    let canary = harness.path("canary");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", canary.display());
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Adds settings and hooks that start the program, in every way that git allows a repository.
fn set_traps(git_dir: &Path, trap: &str) {
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

/// Runs the lifecycle of a change in a hostile repository, with a clone that becomes hostile.
async fn check_lifecycle(harness: &Harness, mechanism: Mechanism) {
    let retention = Retention {
        max_count: 1,
        ..Retention::default()
    };
    let clones = harness.clones_with(mechanism).await;
    let clones = clones.with_retention(retention);
    let trap = trap(harness);
    set_traps(&harness.root().join(".git"), &trap);
    let clone = clones
        .open(&harness.project(), attempt(1), None)
        .await
        .unwrap();
    // The agent makes its clone's own git directory hostile.
    set_traps(&clone.root().join(".git"), &trap);
    put(
        clone.root(),
        ".gitattributes",
        "* filter=worse diff=evil merge=evil\n",
    );
    put(clone.root(), "notes.txt", "one\n2\nthree\n");
    // A nested repository, which git would inspect with its own settings.
    std::fs::create_dir(clone.root().join("inner")).unwrap();
    let home = harness.path("home");
    git_in(&clone.root().join("inner"), &home, &["init", "-q"]);
    put(clone.root(), "inner/file", "x");
    git_in(&clone.root().join("inner"), &home, &["add", "-A"]);
    git_in(
        &clone.root().join("inner"),
        &home,
        &["commit", "-q", "-m", "x"],
    );
    put(clone.root(), "inner/file", "y");
    set_traps(&clone.root().join("inner/.git"), &trap);

    let change = clone.change().await.unwrap();
    assert_eq!(change.files, [".gitattributes", "notes.txt"]);
    // Keep the change, continue from it, and prune.
    let kept = clone.keep("Kept\n".into()).await.unwrap().unwrap();
    let diff = clones.kept_diff(&harness.root(), &kept.id).await.unwrap();
    assert!(diff.contains("+2"), "{diff}");
    let second = clones
        .open(&harness.project(), attempt(2), Some(&kept.id))
        .await
        .unwrap();
    assert_eq!(*second.start(), StartPoint::Change);
    put(second.root(), "notes.txt", "one\n2\n3\n");
    second.keep("Kept\n".into()).await.unwrap().unwrap();
    second.close().await.unwrap();
    let commit = clone.commit(message(1)).await.unwrap();
    clone.publish(&commit, BRANCH).await.unwrap();
    let outcome = clones.merge(&harness.root(), BRANCH).await.unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged(_)), "{outcome:?}");
    assert_eq!(harness.read("notes.txt"), "one\n2\nthree\n");
    clone.close().await.unwrap();
    let log = std::fs::read_to_string(harness.path("canary")).unwrap_or_default();
    assert_eq!(log, "", "a program named by the repository was run");
}

#[tokio::test]
async fn p20_programs_named_by_a_repository_are_not_run() {
    check_lifecycle(&Harness::with_plain_path(), Mechanism::Bubblewrap).await;
    check_lifecycle(&Harness::with_plain_path(), Mechanism::Landlock).await;
}

#[tokio::test]
async fn p20_programs_named_by_a_repository_are_not_run_unsandboxed() {
    check_lifecycle(&Harness::with_plain_path(), Mechanism::None).await;
}

#[tokio::test]
async fn p20_traps_of_these_tests_are_effective() {
    let harness = Harness::with_plain_path();
    let trap = trap(&harness);
    set_traps(&harness.root().join(".git"), &trap);
    harness.write("notes.txt", "changed\n");
    // Runs git as a user would, to show that the tests above are effective.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| harness.git(&["status"])));
    let log = std::fs::read_to_string(harness.path("canary")).unwrap();
    assert!(!log.is_empty());
}

#[tokio::test]
async fn p21_file_and_directory_names_are_never_flags() {
    let harness = Harness::new();
    let clone = harness.open().await;
    for name in ["--exec=x", "-rf", ":(glob)*", "a\nb", "ä ö", "--", "-p/-q"] {
        put(clone.root(), name, "text\n");
    }
    let change = clone.change().await.unwrap();
    assert_eq!(change.files.len(), 7, "{:?}", change.files);
    let commit = clone.commit("--amend\n".into()).await.unwrap();
    clone.publish(&commit, BRANCH).await.unwrap();
    assert_eq!(harness.git(&["show", &format!("{BRANCH}:-rf")]), "text");
    for branch in ["--delete", "-D", "main:other", "../HEAD"] {
        assert!(clone.publish(&commit, branch).await.is_err(), "{branch}");
    }
}
