//! Faults of the environment: a full disk, a held lock, a killed process.

use std::task::Poll;

use windlass_core::{ErrorCode, Retry};
use windlass_tasks::Workspace;

use super::harness::{BRANCH, Harness, attempt, message, publish, put};

#[tokio::test]
async fn lock_of_another_branch_is_reported_and_nothing_is_lost() {
    let harness = Harness::new();
    let clone = harness.open().await;
    put(clone.root(), "notes.txt", "agent\n");
    let commit = clone.commit(message(1)).await.unwrap();
    let lock = harness.root().join(".git/refs/heads/feature.lock");
    std::fs::write(&lock, "").unwrap();
    let error = clone.publish(&commit, "feature").await.unwrap_err();
    assert!(error.to_string().contains("cannot be updated"), "{error}");
    std::fs::remove_file(&lock).unwrap();
    clone.publish(&commit, "feature").await.unwrap();
    assert_eq!(harness.git(&["rev-parse", "feature"]), commit.id);
}

#[tokio::test]
async fn p4_lock_of_a_killed_worker_does_not_block_the_branch() {
    let harness = Harness::new();
    let clone = harness.open().await;
    put(clone.root(), "notes.txt", "agent\n");
    let commit = clone.commit(message(1)).await.unwrap();
    let lock = format!(".git/refs/heads/{BRANCH}.lock");
    harness.write(&lock, "");
    clone.publish(&commit, BRANCH).await.unwrap();
    assert_eq!(harness.git(&["rev-parse", BRANCH]), commit.id);
    assert!(!harness.root().join(&lock).exists());
}

#[tokio::test]
async fn p4_lock_that_is_released_in_time_is_waited_for() {
    let harness = Harness::new();
    let clone = harness.open().await;
    put(clone.root(), "notes.txt", "agent\n");
    let commit = clone.commit(message(1)).await.unwrap();
    let lock = harness
        .root()
        .join(format!(".git/refs/heads/{BRANCH}.lock"));
    harness.write(&format!(".git/refs/heads/{BRANCH}.lock"), "");
    let released = tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        std::fs::remove_file(lock).unwrap();
    });
    clone.publish(&commit, BRANCH).await.unwrap();
    released.await.unwrap();
    assert_eq!(harness.git(&["rev-parse", BRANCH]), commit.id);
}

/// Polls a future at most `polls` times, then drops it. Returns `true` if it completed.
async fn completes_within<T>(future: impl Future<Output = T>, polls: usize) -> bool {
    let mut future = std::pin::pin!(future);
    let mut left = polls;
    std::future::poll_fn(move |context| {
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(true),
            Poll::Pending if left == 0 => Poll::Ready(false),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[tokio::test]
async fn p4_interrupted_publish_is_repeated_exactly_once() {
    let harness = Harness::new();
    let clone = harness.open().await;
    put(clone.root(), "notes.txt", "agent\n");
    let commit = clone.commit(message(1)).await.unwrap();
    let mut polls = 1;
    while !completes_within(clone.publish(&commit, BRANCH), polls).await {
        polls += 1;
        let clones = harness.clones().await;
        let current = clones
            .branch_commit(&harness.project(), BRANCH)
            .await
            .unwrap();
        assert!(current.is_none_or(|id| id == commit.id));
        harness.git(&["fsck", "--strict"]);
    }
    assert!(polls > 3, "it was never interrupted");
    clone.publish(&commit, BRANCH).await.unwrap();
    let commits = harness.git(&["log", "--all", "--format=%H", "--grep", "Task-Id: 7"]);
    assert_eq!(commits, commit.id);
    assert_eq!(harness.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn p29_interrupted_keep_is_repeated() {
    let harness = Harness::new();
    let mut polls = 1;
    loop {
        let clone = harness.open().await;
        put(clone.root(), "notes.txt", "agent\n");
        let is_kept = completes_within(clone.keep("Change\n".into()), polls).await;
        drop(clone);
        // As after a crash at this point: another process keeps the change.
        let clones = harness.clones().await;
        for (_, copy) in clones.stale(&|_| false).await.unwrap() {
            let kept = copy.keep("Change\n".into()).await.unwrap().unwrap();
            let found = harness.git(&["for-each-ref", "--format=%(objectname)", "refs/windlass"]);
            assert_eq!(found, kept.id, "after {polls} polls");
            copy.close().await.unwrap();
        }
        harness.git(&["fsck", "--strict"]);
        if is_kept {
            break;
        }
        let ref_name = harness.git(&["for-each-ref", "--format=%(refname)", "refs/windlass"]);
        harness.git(&["update-ref", "-d", &ref_name]);
        polls += 1;
    }
    assert!(polls > 3, "it was never interrupted");
}

#[tokio::test]
async fn locked_index_rejects_merge_before_any_change() {
    let harness = Harness::new();
    let clone = harness.open().await;
    publish(&*clone, 1, "agent\n").await;
    let clones = harness.clones().await;
    let head = harness.git(&["rev-parse", "HEAD"]);
    harness.write(".git/index.lock", "");
    let error = clones.merge(&harness.root(), BRANCH).await.unwrap_err();
    assert!(error.to_string().contains("index.lock"), "{error}");
    assert_eq!(harness.read("notes.txt"), "one\ntwo\nthree\n");
    assert_eq!(harness.git(&["rev-parse", "HEAD"]), head);
}

#[tokio::test]
async fn unwritable_repository_is_reported_and_publish_can_be_repeated() {
    let harness = Harness::new();
    let clone = harness.open().await;
    put(clone.root(), "notes.txt", "agent\n");
    let commit = clone.commit(message(1)).await.unwrap();
    // A directory cannot be created where a file is.
    let heads = harness.root().join(".git/refs/heads/windlass");
    std::fs::write(&heads, "x").unwrap();
    assert!(clone.publish(&commit, BRANCH).await.is_err());
    std::fs::remove_file(heads).unwrap();
    clone.publish(&commit, BRANCH).await.unwrap();
}

/// Mounting a small disk needs root.
mod needs_root {
    use super::*;

    #[tokio::test]
    async fn full_disk_is_reported_and_leaves_no_files() {
        let harness = Harness::new();
        let big: String = (0..400_000).map(|number| format!("{number}\n")).collect();
        harness.write("big.txt", &big);
        harness.commit("big");
        let clones_dir = harness.path("clones");
        std::fs::create_dir(&clones_dir).unwrap();
        let _disk = SmallDisk::mount(&clones_dir);
        let clones = harness.clones().await;
        let error = clones
            .open(&harness.project(), attempt(1), None)
            .await
            .unwrap_err();
        assert!(
            error.to_string().starts_with("no space left on the disk"),
            "{error}"
        );
        assert!(matches!(error.retry(), Retry::After(_)));
        assert_eq!(error.code(), ErrorCode::BackendError);
        assert!(
            harness.clone_names().is_empty(),
            "{:?}",
            harness.clone_names()
        );
        assert_eq!(harness.git(&["status", "--porcelain"]), "");
    }

    #[tokio::test]
    async fn p29_change_is_kept_on_a_full_disk() {
        let harness = Harness::new();
        let clones_dir = harness.path("clones");
        std::fs::create_dir(&clones_dir).unwrap();
        let _disk = SmallDisk::mount(&clones_dir);
        let clone = harness.open().await;
        put(clone.root(), "notes.txt", "agent\n");
        // Ignored files fill the disk: they are not part of the change.
        let artifact = clone.root().join("node_modules");
        std::fs::create_dir(&artifact).unwrap();
        let full = std::fs::write(artifact.join("big"), vec![7; 2 << 20]);
        assert!(full.is_err(), "the disk is not full");
        let kept = clone.keep("Change\n".into()).await.unwrap();
        assert!(kept.is_some());
        assert!(!artifact.exists());

        // The change itself fills the disk: it stays in the clone.
        let big: String = (0..400_000).map(|number| format!("{number}\n")).collect();
        assert!(std::fs::write(clone.root().join("big.txt"), big).is_err());
        let error = clone.keep("Change\n".into()).await.unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("no space left on the disk"), "{error}");
        assert!(clone.root().join("big.txt").exists());
    }
}

/// A file system of one mebibyte.
pub(super) struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    pub(super) fn mount(path: &std::path::Path) -> Self {
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
