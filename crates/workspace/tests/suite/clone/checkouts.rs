//! Odd checkouts of the user: nothing that is not tracked is lost, and an update that fails leaves no trace.

use windlass_tasks::{AdvanceResult, LandingSite, LandingStrategy, MergeRequest, MergeResult};
use windlass_workspace::{Clones, MergeOutcome};

use super::harness::{BRANCH, Harness};

/// Commits what `change` does to the checkout on a branch of its own, and returns the commit.
fn branch(harness: &Harness, change: impl FnOnce(&Harness)) -> String {
    harness.git(&["checkout", "-q", "-b", BRANCH]);
    change(harness);
    harness.git(&["commit", "-q", "-m", "change"]);
    let commit = harness.git(&["rev-parse", "HEAD"]);
    harness.git(&["checkout", "-q", "main"]);
    commit
}

/// Lands a commit, or returns why it cannot land now.
async fn land(
    harness: &Harness,
    clones: &Clones,
    target: &str,
    commit: &str,
) -> windlass_core::Result<Result<(), String>> {
    let request = MergeRequest {
        branch: target,
        commits: &[commit.to_owned()],
        strategy: LandingStrategy::Merge,
        message: "Land\n",
    };
    let copy = match LandingSite::merge(clones, &harness.project(), request).await? {
        MergeResult::Ready(copy) => copy,
        MergeResult::NotNow(why) => return Ok(Err(why)),
        _ => panic!("it can be merged"),
    };
    match copy.advance().await? {
        AdvanceResult::Moved => Ok(Ok(())),
        AdvanceResult::NotNow(why) => Ok(Err(why)),
        AdvanceResult::Stale => panic!("nothing else moves the branch"),
    }
}

/// Both ways to change a checkout refuse, and the reason names the file.
async fn refused(harness: &Harness, clones: &Clones, commit: &str, file: &str) {
    let merged = clones.merge(&harness.root(), BRANCH).await.unwrap();
    let expected = MergeOutcome::WouldOverwrite(vec![file.to_owned()]);
    assert_eq!(merged, expected);
    let why = land(harness, clones, "main", commit).await.unwrap();
    assert!(why.as_ref().is_err_and(|why| why.contains(file)), "{why:?}");
}

#[tokio::test]
async fn ignored_file_in_place_of_a_new_directory_is_kept() {
    let harness = Harness::new();
    harness.write(".gitignore", "cache\n");
    harness.commit("ignore");
    let commit = branch(&harness, |harness| {
        harness.write("cache/new.txt", "new\n");
        harness.git(&["add", "-f", "cache/new.txt"]);
    });
    let clones = harness.clones().await;
    harness.write("cache", "mine\n");
    refused(&harness, &clones, &commit, "cache/new.txt").await;
    assert_eq!(harness.read("cache"), "mine\n");
    std::fs::remove_file(harness.root().join("cache")).unwrap();
    // A link is not followed, and not replaced.
    std::fs::create_dir(harness.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(harness.path("elsewhere"), harness.root().join("cache")).unwrap();
    refused(&harness, &clones, &commit, "cache/new.txt").await;
    std::fs::remove_file(harness.root().join("cache")).unwrap();
    assert_eq!(
        land(&harness, &clones, "main", &commit).await.unwrap(),
        Ok(())
    );
    assert_eq!(harness.read("cache/new.txt"), "new\n");
    assert_eq!(harness.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn directory_can_become_a_file_if_all_of_it_is_tracked() {
    let harness = Harness::new();
    let commit = branch(&harness, |harness| {
        harness.git(&["rm", "-q", "src/lib.txt"]);
        harness.write("src", "now a file\n");
        harness.git(&["add", "src"]);
    });
    let clones = harness.clones().await;
    harness.write("src/mine.txt", "mine\n");
    refused(&harness, &clones, &commit, "src").await;
    assert_eq!(harness.read("src/mine.txt"), "mine\n");
    std::fs::remove_file(harness.root().join("src/mine.txt")).unwrap();
    assert_eq!(
        land(&harness, &clones, "main", &commit).await.unwrap(),
        Ok(())
    );
    assert_eq!(harness.read("src"), "now a file\n");
    assert_eq!(harness.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn checkout_with_a_split_index_is_updated() {
    for by_landing in [true, false] {
        let harness = Harness::new();
        let commit = branch(&harness, |harness| {
            harness.write("notes.txt", "changed\n");
            harness.git(&["add", "notes.txt"]);
        });
        harness.git(&["config", "core.splitIndex", "true"]);
        harness.git(&["update-index", "--split-index"]);
        let clones = harness.clones().await;
        harness.write("src/lib.txt", "edited\n");
        if by_landing {
            assert_eq!(
                land(&harness, &clones, "main", &commit).await.unwrap(),
                Ok(())
            );
        } else {
            let merged = clones.merge(&harness.root(), BRANCH).await.unwrap();
            assert!(matches!(merged, MergeOutcome::Merged(_)), "{merged:?}");
        }
        assert_eq!(harness.read("notes.txt"), "changed\n");
        assert_eq!(harness.git(&["status", "--porcelain"]), " M src/lib.txt");
    }
}

/// A file whose name no file system accepts cannot be written: the update fails after other files were.
#[tokio::test]
async fn update_that_fails_in_the_middle_leaves_no_trace() {
    let harness = Harness::new();
    let long = format!("src/{}", "n".repeat(300));
    let commit = branch(&harness, |harness| {
        harness.write("added.txt", "added\n");
        harness.write("notes.txt", "changed\n");
        harness.git(&["rm", "-q", "src/lib.txt"]);
        harness.git(&["add", "added.txt", "notes.txt"]);
        let blob = harness.git(&["rev-parse", ":notes.txt"]);
        let entry = format!("100644,{blob},{long}");
        harness.git(&["update-index", "--add", "--cacheinfo", &entry]);
    });
    let head = harness.git(&["rev-parse", "main"]);
    let clones = harness.clones().await;
    harness.write("mine.txt", "mine\n");
    let check = || {
        assert_eq!(harness.git(&["rev-parse", "main"]), head);
        assert_eq!(harness.git(&["status", "--porcelain"]), "?? mine.txt");
        assert_eq!(harness.read("notes.txt"), "one\ntwo\nthree\n");
        assert_eq!(harness.read("src/lib.txt"), "library\n");
    };
    clones.merge(&harness.root(), BRANCH).await.unwrap_err();
    check();
    land(&harness, &clones, "main", &commit).await.unwrap_err();
    check();
    assert!(!harness.root().join(".git/index.lock").exists());
}

#[tokio::test]
async fn branch_of_a_deleted_worktree_is_explained() {
    let harness = Harness::new();
    let commit = branch(&harness, |harness| {
        harness.write("notes.txt", "changed\n");
        harness.git(&["add", "notes.txt"]);
    });
    let tree = harness.path("tree");
    let tree = tree.to_str().unwrap();
    harness.git(&["worktree", "add", "-q", "-b", "release", tree]);
    let clones = harness.clones().await;
    assert_eq!(
        land(&harness, &clones, "release", &commit).await.unwrap(),
        Ok(())
    );
    let landed = std::fs::read_to_string(harness.path("tree/notes.txt")).unwrap();
    assert_eq!(landed, "changed\n");
    assert_eq!(harness.read("notes.txt"), "one\ntwo\nthree\n");
    harness.git(&["branch", "-f", "main2", "main"]);
    harness.git(&["worktree", "remove", tree]);
    harness.git(&["worktree", "add", "-q", tree, "main2"]);
    std::fs::remove_dir_all(tree).unwrap();
    let error = land(&harness, &clones, "main2", &commit).await.unwrap_err();
    assert!(
        error.to_string().contains("run git worktree prune"),
        "{error}"
    );
    harness.git(&["worktree", "prune"]);
    assert_eq!(
        land(&harness, &clones, "main2", &commit).await.unwrap(),
        Ok(())
    );
}
