//! What testing a commit in a fresh checkout costs, compared with testing in the clone and with git's own
//! checkout.
//!
//! Run with `cargo bench -p windlass-workspace --bench judge`. The cost is `fresh_checkout` minus `in_clone` minus
//! `git_checkout`.
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
use windlass_sandbox::{Host, Sandbox, init};
use windlass_tasks::{
    AttemptRef, CheckRequest, Project, ProjectId, TaskId, Verifier, WorkingCopy, Workspace,
};
use windlass_workspace::{Clones, Judge, TestRunner, TestSettings};

const FILES: usize = 2000;

fn main() {
    init::run_if_invoked();
    divan::main();
}

fn git(dir: &Path, variables: &[(&str, &Path)], args: &[&str]) {
    let output = Command::new("git")
        .args(args)
        .current_dir(dir)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {stderr}");
}

/// Creates a repository with many files, outside the temporary directory.
fn repository() -> (TempDir, PathBuf) {
    let dir = TempDir::with_prefix_in("bench-", env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = dir.path().canonicalize().unwrap().join("project");
    std::fs::create_dir(&root).unwrap();
    git(&root, &[], &["init", "-q", "-b", "main"]);
    for number in 0..FILES {
        let dir = root.join(format!("dir-{}", number % 40));
        std::fs::create_dir_all(&dir).unwrap();
        let text = format!("{number}\n").repeat(50);
        std::fs::write(dir.join(format!("{number}.txt")), text).unwrap();
    }
    git(&root, &[], &["add", "-A"]);
    let user = ["-c", "user.name=Bench", "-c", "user.email=b@localhost"];
    git(
        &root,
        &[],
        &[&user[..], &["commit", "-q", "-m", "first"]].concat(),
    );
    (dir, root)
}

/// An attempt that has changed one file, with its judge.
struct Attempt {
    runtime: Runtime,
    tests: TestRunner,
    judge: Judge,
    clone: Box<dyn WorkingCopy>,
    _dir: TempDir,
}

impl Attempt {
    fn new() -> Self {
        let (dir, root) = repository();
        let runtime = Runtime::new().unwrap();
        let sandbox = runtime.block_on(Sandbox::detect(Host::current())).unwrap();
        let clones = Clones::new(sandbox.clone(), dir.path().join("clones")).unwrap();
        let tests = TestRunner::new(sandbox, TestSettings::default());
        let project = Project::new(ProjectId::from(1), "project", root, Timestamp(0));
        let attempt = AttemptRef {
            task: TaskId::from(1),
            number: 1,
        };
        let opened = clones.open(&project, attempt, None);
        let clone = runtime.block_on(opened).unwrap();
        std::fs::write(clone.root().join("dir-0/0.txt"), "changed\n").unwrap();
        Self {
            runtime,
            judge: Judge::new(clones, tests.clone()),
            tests,
            clone,
            _dir: dir,
        }
    }
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn git_checkout(bencher: Bencher) {
    let (dir, root) = repository();
    let (work, index) = (dir.path().join("work"), dir.path().join("index"));
    bencher.bench_local(|| {
        std::fs::create_dir(&work).unwrap();
        let variables = [
            ("GIT_WORK_TREE", work.as_path()),
            ("GIT_INDEX_FILE", &index),
        ];
        git(&root, &variables, &["read-tree", "--reset", "-u", "HEAD"]);
        std::fs::remove_dir_all(&work).unwrap();
        std::fs::remove_file(&index).unwrap();
    });
}

/// Snapshot, commit, and a test run in the agent's clone.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn in_clone(bencher: Bencher) {
    let attempt = Attempt::new();
    let command = ["true".to_owned()];
    bencher.bench_local(|| {
        attempt.runtime.block_on(async {
            attempt.clone.change().await.unwrap();
            attempt
                .tests
                .run(attempt.clone.root(), &command)
                .await
                .unwrap();
            attempt.clone.commit("Change\n".to_owned()).await.unwrap()
        })
    });
}

/// Stored baseline, snapshot, commit, and a test run in a fresh checkout.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn fresh_checkout(bencher: Bencher) {
    let attempt = Attempt::new();
    let command = ["true".to_owned()];
    let (clone, judge) = (&*attempt.clone, &attempt.judge);
    bencher.bench_local(|| {
        attempt.runtime.block_on(async {
            let baseline = judge.baseline(clone, &command).await.unwrap();
            let commit = clone.commit("Change\n".to_owned()).await.unwrap();
            clone.change_of(&commit).await.unwrap();
            let request = CheckRequest {
                commit: &commit,
                command: &command,
                baseline: &baseline,
                edits_tests: false,
            };
            judge.check(clone, request).await.unwrap();
            clone.commit("Change\n".to_owned()).await.unwrap()
        })
    });
}
