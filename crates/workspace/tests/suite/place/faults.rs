//! What the machine does to us: a full disk, a held lock, a killed process.

use std::task::Poll;

use windlass_core::workspace::Workspace;
use windlass_core::{ErrorCode, Retry};

use super::world::{BRANCH, World, attempt, message, publish, put};

#[tokio::test]
async fn lock_of_another_branch_is_reported_and_nothing_is_lost() {
    let world = World::new();
    let place = world.open().await;
    put(place.root(), "notes.txt", "agent\n");
    let commit = place.commit(message(1)).await.unwrap();
    let lock = world.root().join(".git/refs/heads/feature.lock");
    std::fs::write(&lock, "").unwrap();
    let error = place.publish(&commit, "feature").await.unwrap_err();
    assert!(error.to_string().contains("cannot be moved"), "{error}");
    std::fs::remove_file(&lock).unwrap();
    place.publish(&commit, "feature").await.unwrap();
    assert_eq!(world.git(&["rev-parse", "feature"]), commit.id);
}

#[tokio::test]
async fn p4_lock_of_a_killed_worker_does_not_block_the_branch() {
    let world = World::new();
    let place = world.open().await;
    put(place.root(), "notes.txt", "agent\n");
    let commit = place.commit(message(1)).await.unwrap();
    let lock = format!(".git/refs/heads/{BRANCH}.lock");
    world.write(&lock, "");
    place.publish(&commit, BRANCH).await.unwrap();
    assert_eq!(world.git(&["rev-parse", BRANCH]), commit.id);
    assert!(!world.root().join(&lock).exists());
}

#[tokio::test]
async fn p4_lock_that_is_released_in_time_is_waited_for() {
    let world = World::new();
    let place = world.open().await;
    put(place.root(), "notes.txt", "agent\n");
    let commit = place.commit(message(1)).await.unwrap();
    let lock = world.root().join(format!(".git/refs/heads/{BRANCH}.lock"));
    world.write(&format!(".git/refs/heads/{BRANCH}.lock"), "");
    let released = tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        std::fs::remove_file(lock).unwrap();
    });
    place.publish(&commit, BRANCH).await.unwrap();
    released.await.unwrap();
    assert_eq!(world.git(&["rev-parse", BRANCH]), commit.id);
}

/// Polls a piece of work so many times, then drops it where it stands. Whether it came to its end.
async fn broken_off<T>(work: impl Future<Output = T>, polls: usize) -> bool {
    let mut work = std::pin::pin!(work);
    let mut left = polls;
    std::future::poll_fn(move |context| {
        left -= 1;
        match work.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(true),
            Poll::Pending if left == 0 => Poll::Ready(false),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[tokio::test]
async fn p4_a_publish_that_is_broken_off_anywhere_is_done_again_and_once() {
    let world = World::new();
    let place = world.open().await;
    put(place.root(), "notes.txt", "agent\n");
    let commit = place.commit(message(1)).await.unwrap();
    let mut polls = 1;
    while !broken_off(place.publish(&commit, BRANCH), polls).await {
        polls += 1;
        let clones = world.clones().await;
        let standing = clones
            .branch_commit(&world.project(), BRANCH)
            .await
            .unwrap();
        assert!(standing.is_none_or(|found| found == commit.id));
        world.git(&["fsck", "--strict"]);
    }
    assert!(polls > 3, "it was never broken off");
    place.publish(&commit, BRANCH).await.unwrap();
    let found = world.git(&["log", "--all", "--format=%H", "--grep", "Task-Id: 7"]);
    assert_eq!(found, commit.id);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_held_index_stops_a_merge_before_anything_is_touched() {
    let world = World::new();
    let place = world.open().await;
    publish(&*place, 1, "agent\n").await;
    let clones = world.clones().await;
    let head = world.git(&["rev-parse", "HEAD"]);
    world.write(".git/index.lock", "");
    let error = clones.merge(&world.root(), BRANCH).await.unwrap_err();
    assert!(error.to_string().contains("index.lock"), "{error}");
    assert_eq!(world.read("notes.txt"), "one\ntwo\nthree\n");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
}

#[tokio::test]
async fn a_repository_that_cannot_be_written_is_said_and_the_commit_is_kept() {
    let world = World::new();
    let place = world.open().await;
    put(place.root(), "notes.txt", "agent\n");
    let commit = place.commit(message(1)).await.unwrap();
    // Nobody can make a folder where a file is.
    let heads = world.root().join(".git/refs/heads/windlass");
    std::fs::write(&heads, "x").unwrap();
    assert!(place.publish(&commit, BRANCH).await.is_err());
    std::fs::remove_file(heads).unwrap();
    place.publish(&commit, BRANCH).await.unwrap();
}

/// A small disk has to be mounted.
mod needs_root {
    use super::*;

    #[tokio::test]
    async fn a_full_disk_is_one_sentence_and_leaves_nothing_behind() {
        let world = World::new();
        let big: String = (0..400_000).map(|number| format!("{number}\n")).collect();
        world.write("big.txt", &big);
        world.commit("big");
        let places = world.at("places");
        std::fs::create_dir(&places).unwrap();
        let _disk = SmallDisk::mount(&places);
        let clones = world.clones().await;
        let error = clones.open(&world.project(), attempt(1)).await.unwrap_err();
        assert!(
            error.to_string().starts_with("no space left on the disk"),
            "{error}"
        );
        assert!(matches!(error.retry(), Retry::After(_)));
        assert_eq!(error.code(), ErrorCode::BackendError);
        assert!(world.places().is_empty(), "{:?}", world.places());
        assert_eq!(world.git(&["status", "--porcelain"]), "");
    }
}

/// A disk of one mebibyte.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(path: &std::path::Path) -> Self {
        assert!(
            rustix::process::getuid().is_root(),
            "only root can mount: run the tests as root"
        );
        let status = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs"])
            .arg(path)
            .status();
        assert!(status.unwrap().success());
        Self(path.to_owned())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .status();
    }
}
