//! The lifecycle of a clone compared with plain git: clone, edit, commit, publish the branch,
//! remove.
//!
//! Run with `cargo bench -p windlass-workspace`.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark panics if it cannot measure, and compares with plain git"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use divan::Bencher;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use windlass_core::Timestamp;
use windlass_sandbox::{Host, Mechanism, Sandbox, init};
use windlass_tasks::{AttemptRef, Project, ProjectId, TaskId, Workspace};
use windlass_workspace::Clones;

const FILES: [usize; 2] = [10, 2000];

fn main() {
    init::run_if_invoked();
    divan::main();
}

fn git(dir: &Path, args: &[&str]) {
    let output = Command::new("git")
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Creates a repository with this many files, outside the temporary directory.
fn repository(files: usize) -> (TempDir, PathBuf) {
    let dir = TempDir::with_prefix_in("bench-", env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = dir.path().canonicalize().unwrap().join("project");
    std::fs::create_dir(&root).unwrap();
    git(&root, &["init", "-q", "-b", "main"]);
    git(&root, &["config", "user.name", "Bench"]);
    git(&root, &["config", "user.email", "bench@example.org"]);
    for number in 0..files {
        let dir = root.join(format!("dir-{}", number % 40));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(
            dir.join(format!("{number}.txt")),
            format!("{number}\n").repeat(50),
        )
        .unwrap();
    }
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-q", "-m", "first"]);
    (dir, root)
}

#[divan::bench(args = FILES, sample_count = 10, sample_size = 1)]
fn plain_git(bencher: Bencher, files: usize) {
    let (dir, root) = repository(files);
    let clone = dir.path().join("clone");
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        let branch = format!("task-{number}");
        git(
            &root,
            &["clone", "-q", "--shared", ".", clone.to_str().unwrap()],
        );
        git(&clone, &["config", "user.name", "Bench"]);
        git(&clone, &["config", "user.email", "bench@example.org"]);
        std::fs::write(clone.join("dir-0/0.txt"), format!("{number}\n")).unwrap();
        git(&clone, &["add", "-A"]);
        git(&clone, &["commit", "-q", "-m", "change"]);
        let refs = format!("HEAD:refs/heads/{branch}");
        git(&root, &["fetch", "-q", clone.to_str().unwrap(), &refs]);
        std::fs::remove_dir_all(&clone).unwrap();
    });
}

#[divan::bench(args = FILES, sample_count = 10, sample_size = 1)]
fn clone_with_bubblewrap(bencher: Bencher, files: usize) {
    bench_clone(bencher, files, Mechanism::Bubblewrap);
}

#[divan::bench(args = FILES, sample_count = 10, sample_size = 1)]
fn clone_unsandboxed(bencher: Bencher, files: usize) {
    bench_clone(bencher, files, Mechanism::None);
}

fn bench_clone(bencher: Bencher, files: usize, mechanism: Mechanism) {
    let (dir, root) = repository(files);
    let runtime = Runtime::new().unwrap();
    let sandbox = runtime
        .block_on(Sandbox::with_mechanism(Host::current(), mechanism))
        .unwrap();
    let clones = Clones::new(sandbox, dir.path().join("clones")).unwrap();
    let project = Project::new(ProjectId::from(1), "project", root, Timestamp(0));
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        let task = TaskId::from(number);
        runtime.block_on(async {
            let attempt = AttemptRef { task, number: 1 };
            let clone = clones.open(&project, attempt, None).await.unwrap();
            std::fs::write(clone.root().join("dir-0/0.txt"), format!("{task}\n")).unwrap();
            let message = format!("Change\n\nTask-Id: {task}\nAttempt: 1\n");
            let commit = clone.commit(message).await.unwrap();
            clone
                .publish(&commit, &format!("task-{task}"))
                .await
                .unwrap();
            clone.close().await.unwrap();
        });
    });
}
