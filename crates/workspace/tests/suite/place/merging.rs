//! A finished branch comes into the user's checkout, and no edit is lost on the way.

use windlass_workspace::{Clones, MergeOutcome, Merged};

use super::world::{BRANCH, World, publish};

/// A world with a branch on which `notes.txt` has this text.
async fn with_branch(text: &str) -> (World, Clones) {
    let world = World::new();
    let place = world.open().await;
    publish(&*place, 1, text).await;
    place.close().await.unwrap();
    let clones = world.clones().await;
    (world, clones)
}

async fn merge(world: &World, clones: &Clones) -> MergeOutcome {
    let preview = clones.preview(&world.root(), BRANCH).await.unwrap();
    let done = clones.merge(&world.root(), BRANCH).await.unwrap();
    assert_eq!(kind(&preview), kind(&done));
    assert!(world.places().is_empty(), "{:?}", world.places());
    done
}

fn kind(merge: &MergeOutcome) -> std::mem::Discriminant<MergeOutcome> {
    std::mem::discriminant(merge)
}

#[track_caller]
fn merged(merge: MergeOutcome) -> Merged {
    match merge {
        MergeOutcome::Merged(merged) => merged,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_branch_ahead_is_moved_to_and_other_edits_stay() {
    let (world, clones) = with_branch("one\n2\nthree\n").await;
    world.write("src/lib.txt", "library, edited\n");
    world.write("untracked.txt", "mine\n");
    let before = world.git(&["rev-parse", "HEAD"]);
    let done = merged(merge(&world, &clones).await);
    assert!(done.fast_forward);
    assert_eq!((done.into.as_str(), &done.before), ("main", &before));
    assert_eq!(done.files, ["notes.txt"]);
    assert_eq!(world.read("notes.txt"), "one\n2\nthree\n");
    assert_eq!(
        world.git(&["status", "--porcelain"]),
        " M src/lib.txt\n?? untracked.txt"
    );
    assert_eq!(world.git(&["rev-parse", "main"]), done.after);
    assert_eq!(merge(&world, &clones).await, MergeOutcome::UpToDate);

    let undo: Vec<&str> = Vec::from_iter(done.undo().leak().split(' ').skip(1));
    world.git(&undo);
    assert_eq!(world.read("notes.txt"), "one\ntwo\nthree\n");
    assert_eq!(world.read("src/lib.txt"), "library, edited\n");
}

#[tokio::test]
async fn a_base_that_moved_is_merged_with_two_parents() {
    let (world, clones) = with_branch("one\ntwo\nthree\nfour\n").await;
    world.write("notes.txt", "zero\none\ntwo\nthree\n");
    world.commit("meanwhile");
    let done = merged(merge(&world, &clones).await);
    assert!(!done.fast_forward);
    assert_eq!(world.read("notes.txt"), "zero\none\ntwo\nthree\nfour\n");
    assert_eq!(
        world.git(&["log", "-1", "--format=%s"]),
        format!("Merge branch '{BRANCH}'")
    );
    assert_eq!(world.git(&["rev-list", "--count", "--merges", "HEAD"]), "1");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    world.git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn an_uncommitted_edit_is_never_overwritten() {
    let (world, clones) = with_branch("one\n2\nthree\n").await;
    let refused = MergeOutcome::WouldOverwrite(vec!["notes.txt".into()]);
    let head = world.git(&["rev-parse", "HEAD"]);
    for staged in [false, true] {
        world.write("notes.txt", "mine\n");
        if staged {
            world.git(&["add", "notes.txt"]);
        }
        assert_eq!(merge(&world, &clones).await, refused);
        assert_eq!(world.read("notes.txt"), "mine\n");
    }
    world.git(&["rm", "-q", "--cached", "notes.txt"]);
    assert_eq!(merge(&world, &clones).await, refused);
    assert_eq!(world.read("notes.txt"), "mine\n");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
}

#[tokio::test]
async fn an_untracked_or_ignored_file_is_never_overwritten() {
    let world = World::new();
    let place = world.open().await;
    super::world::put(place.root(), "new.txt", "agent\n");
    publish(&*place, 1, "one\n").await;
    let clones = world.clones().await;
    place.close().await.unwrap();
    world.write("new.txt", "mine\n");
    let refused = MergeOutcome::WouldOverwrite(vec!["new.txt".into()]);
    assert_eq!(merge(&world, &clones).await, refused);
    world.write(".git/info/exclude", "new.txt\n");
    assert_eq!(merge(&world, &clones).await, refused);
    assert_eq!(world.read("new.txt"), "mine\n");
}

#[tokio::test]
async fn conflicts_are_shown_and_nothing_is_touched() {
    let (world, clones) = with_branch("one\n2\nthree\n").await;
    world.write("notes.txt", "one\nII\nthree\n");
    let head = world.commit("meanwhile");
    let expected = MergeOutcome::Conflicts(vec!["notes.txt".into()]);
    assert_eq!(merge(&world, &clones).await, expected);
    assert_eq!(world.read("notes.txt"), "one\nII\nthree\n");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_file_that_was_only_touched_is_no_edit() {
    let (world, clones) = with_branch("one\n2\nthree\n").await;
    let file = std::fs::File::options()
        .append(true)
        .open(world.root().join("notes.txt"))
        .unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    merged(merge(&world, &clones).await);
}

#[tokio::test]
async fn where_a_merge_makes_no_sense_one_sentence_says_why() {
    let (world, clones) = with_branch("one\n2\nthree\n").await;
    let refused = async |expected: &str| {
        let error = clones
            .merge(&world.root(), BRANCH)
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    };
    world.git(&["checkout", "-q", "--detach"]);
    refused("detached HEAD").await;
    world.git(&["checkout", "-q", "main"]);
    world.write(".git/MERGE_HEAD", "x\n");
    refused("a merge is under way").await;
    std::fs::remove_file(world.root().join(".git/MERGE_HEAD")).unwrap();
    let error = clones
        .merge(&world.root(), "windlass/task-8")
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "branch windlass/task-8: there is no such branch"
    );
}
