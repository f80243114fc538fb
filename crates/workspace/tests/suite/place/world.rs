//! A user with a repository, and places beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use windlass_core::Timestamp;
use windlass_core::task::{AttemptRef, Project};
use windlass_core::workspace::{Commit, WorkingCopy, Workspace};
use windlass_sandbox::{Host, Mechanism, Sandbox};
use windlass_workspace::Clones;

/// Away from the folder for temporary files, which every process has its own of.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    /// With a repository of one commit on `main`.
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
        let folder = TempDir::with_prefix_in("place-", parent).unwrap();
        let world = Self { folder };
        for name in ["home", "project"] {
            std::fs::create_dir(world.at(name)).unwrap();
        }
        world.git(&["init", "-q", "-b", "main"]);
        world.write("notes.txt", "one\ntwo\nthree\n");
        world.write("src/lib.txt", "library\n");
        world.commit("first");
        world
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.at("project")
    }

    pub(crate) fn project(&self) -> Project {
        Project {
            id: 1,
            name: "project".into(),
            root: self.root(),
            created_at: Timestamp(0),
        }
    }

    /// Puts a file into the user's checkout.
    pub(crate) fn write(&self, name: &str, text: &str) {
        put(&self.root(), name, text);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.root().join(name)).unwrap()
    }

    /// Commits everything in the user's checkout, and gives the commit.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Git as the user runs it in the checkout.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git_in(&self.root(), &self.at("home"), args)
    }

    pub(crate) fn host(&self) -> Host {
        let path = std::env::var("PATH").unwrap();
        Host::new([("HOME", self.at("home").to_str().unwrap()), ("PATH", &path)])
    }

    pub(crate) async fn sandbox(&self) -> Sandbox {
        Sandbox::detect(self.host())
            .await
            .unwrap_or_else(|error| panic!("{error}: run `cargo build -p windlass-sandbox` first"))
    }

    pub(crate) async fn clones(&self) -> Clones {
        Clones::new(self.sandbox().await, self.at("places")).unwrap()
    }

    /// Places behind one mechanism. With none, what is not obeyed is not obeyed at all.
    pub(crate) async fn clones_with(&self, mechanism: Mechanism) -> Clones {
        let sandbox = Sandbox::with_mechanism(self.host(), mechanism)
            .await
            .unwrap();
        Clones::new(sandbox, self.at("places")).unwrap()
    }

    pub(crate) async fn open(&self) -> Box<dyn WorkingCopy> {
        let clones = self.clones().await;
        clones.open(&self.project(), attempt(1)).await.unwrap()
    }

    /// What is in the folder of places.
    pub(crate) fn places(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.at("places")).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

pub(crate) fn attempt(number: u32) -> AttemptRef {
    AttemptRef { task: 7, number }
}

/// A commit message as the runner writes it.
pub(crate) fn message(number: u32) -> String {
    format!("Do it\n\nTask-Id: 7\nAttempt: {number}\n")
}

pub(crate) const BRANCH: &str = "windlass/task-7";

/// Puts a file into a folder, with all folders it needs.
pub(crate) fn put(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Makes a change in a place, and publishes it.
pub(crate) async fn publish(place: &dyn WorkingCopy, number: u32, text: &str) -> Commit {
    put(place.root(), "notes.txt", text);
    let commit = place.commit(message(number)).await.unwrap();
    place.publish(&commit, BRANCH).await.unwrap();
    commit
}

#[track_caller]
pub(crate) fn git_in(folder: &Path, home: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(args)
        .current_dir(folder)
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
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}
