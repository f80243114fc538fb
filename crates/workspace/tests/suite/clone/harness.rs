//! A user with a repository, and a directory of clones next to it.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use windlass_core::Timestamp;
use windlass_sandbox::{Host, Mechanism, Sandbox};
use windlass_tasks::{AttemptRef, Commit, Project, ProjectId, TaskId, WorkingCopy, Workspace};
use windlass_workspace::Clones;

/// The directories of one test, outside `/tmp`, because every sandboxed process has a private one.
pub(crate) struct Harness {
    dir: TempDir,
}

impl Harness {
    /// Creates a repository with one commit on `main`.
    pub(crate) fn new() -> Self {
        Self::new_in(env!("CARGO_TARGET_TMPDIR"))
    }

    /// At a path that a shell takes as one word without quotes.
    pub(crate) fn with_plain_path() -> Self {
        let usual = env!("CARGO_TARGET_TMPDIR");
        let is_plain = usual
            .chars()
            .all(|c| c.is_alphanumeric() || "/-_.".contains(c));
        Self::new_in(if is_plain { usual } else { "/tmp" })
    }

    fn new_in(parent: &str) -> Self {
        let dir = TempDir::with_prefix_in("clone-", parent).unwrap();
        let harness = Self { dir };
        for name in ["home", "project"] {
            std::fs::create_dir(harness.path(name)).unwrap();
        }
        harness.git(&["init", "-q", "-b", "main"]);
        harness.write("notes.txt", "one\ntwo\nthree\n");
        harness.write("src/lib.txt", "library\n");
        harness.commit("first");
        harness
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("project")
    }

    pub(crate) fn project(&self) -> Project {
        Project::new(ProjectId::from(1), "project", self.root(), Timestamp(0))
    }

    /// Writes a file in the user's checkout.
    pub(crate) fn write(&self, name: &str, text: &str) {
        put(&self.root(), name, text);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.root().join(name)).unwrap()
    }

    /// Commits everything in the user's checkout, and returns the commit.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git in the checkout as the user does.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git_in(&self.root(), &self.path("home"), args)
    }

    pub(crate) fn host(&self) -> Host {
        let path = std::env::var("PATH").unwrap();
        Host::new([
            ("HOME", self.path("home").to_str().unwrap()),
            ("PATH", &path),
        ])
    }

    pub(crate) async fn sandbox(&self) -> Sandbox {
        Sandbox::detect(self.host())
            .await
            .unwrap_or_else(|error| panic!("{error}: run `cargo build -p windlass-sandbox` first"))
    }

    pub(crate) async fn clones(&self) -> Clones {
        Clones::new(self.sandbox().await, self.path("clones")).unwrap()
    }

    /// Returns clones that use one mechanism. With none, only git's settings protect against
    /// hostile repositories.
    pub(crate) async fn clones_with(&self, mechanism: Mechanism) -> Clones {
        let sandbox = Sandbox::with_mechanism(self.host(), mechanism)
            .await
            .unwrap();
        Clones::new(sandbox, self.path("clones")).unwrap()
    }

    pub(crate) async fn open(&self) -> Box<dyn WorkingCopy> {
        let clones = self.clones().await;
        clones
            .open(&self.project(), attempt(1), None)
            .await
            .unwrap()
    }

    /// Returns the names in the directory of clones.
    pub(crate) fn clone_names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("clones")).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

pub(crate) fn attempt(number: u32) -> AttemptRef {
    AttemptRef {
        task: TaskId::from(7),
        number,
    }
}

/// Returns a commit message as the runner writes it.
pub(crate) fn message(number: u32) -> String {
    format!("Do it\n\nTask-Id: 7\nAttempt: {number}\n")
}

pub(crate) const BRANCH: &str = "windlass/task-7";

/// Writes a file in a directory and creates its parent directories.
pub(crate) fn put(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Makes a change in a clone, and publishes it.
pub(crate) async fn publish(clone: &dyn WorkingCopy, number: u32, text: &str) -> Commit {
    put(clone.root(), "notes.txt", text);
    let commit = clone.commit(message(number)).await.unwrap();
    clone.publish(&commit, BRANCH).await.unwrap();
    commit
}

#[track_caller]
pub(crate) fn git_in(dir: &Path, home: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home)
        .envs([
            ("GIT_AUTHOR_NAME", "User"),
            ("GIT_AUTHOR_EMAIL", "user@example.org"),
            ("GIT_COMMITTER_NAME", "User"),
            ("GIT_COMMITTER_EMAIL", "user@example.org"),
        ])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {stderr}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}
