//! A host, a user and a working directory for the tests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::Instant;
use windlass_sandbox::{CommandSpec, Host, Mechanism, Output, Profile, Sandbox};

pub(crate) const ISOLATING: [Mechanism; 2] = [Mechanism::Bubblewrap, Mechanism::Landlock];
pub(crate) const ALL: [Mechanism; 3] =
    [Mechanism::Bubblewrap, Mechanism::Landlock, Mechanism::None];

pub(crate) fn profiles() -> [Profile; 3] {
    [Profile::agent(), Profile::tool(), Profile::test()]
}

/// A user with secrets in the home directory, and a repository there.
pub(crate) struct User {
    dir: TempDir,
}

impl User {
    pub(crate) fn new() -> Self {
        // Not under `/tmp`, because every child has a private one.
        let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let user = Self {
            dir: TempDir::with_prefix_in("user-", parent).unwrap(),
        };
        std::fs::create_dir(user.repository()).unwrap();
        std::fs::create_dir(user.home().join("tmp")).unwrap();
        user
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn repository(&self) -> PathBuf {
        self.home().join("repository")
    }

    /// Writes a file in the home directory and creates its parent directories.
    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn host(&self) -> Host {
        let home = self.home();
        Host::new([
            ("HOME", home.to_str().unwrap()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("SECRET_TOKEN", "canary"),
        ])
    }

    pub(crate) async fn sandbox(&self, mechanism: Mechanism) -> Sandbox {
        Sandbox::with_mechanism(self.host(), mechanism)
            .await
            .unwrap()
    }

    /// Returns a command that runs a shell script in the repository.
    pub(crate) fn script(&self, profile: Profile, script: &str) -> CommandSpec {
        CommandSpec::new("bash", self.repository(), profile).args(["-c", script])
    }

    /// Runs a shell script in the repository.
    pub(crate) async fn run(&self, mechanism: Mechanism, profile: Profile, script: &str) -> Output {
        self.sandbox(mechanism)
            .await
            .run(self.script(profile, script))
            .await
            .unwrap()
    }
}

/// Returns the output of a script on both streams, trimmed.
pub(crate) fn output_text(output: &Output) -> String {
    format!("{}{}", output.stdout.text(), output.stderr.text())
        .trim()
        .to_owned()
}

/// Returns the processes of this machine whose command line contains the marker.
pub(crate) fn processes_with(marker: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(marker)
    })
    .collect()
}

/// Returns the path of a program in this crate's `examples/`, built along with the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_BIN_EXE_windlass-init"))
        .parent()
        .unwrap();
    let example = programs.join("examples").join(name);
    assert!(
        example.is_file(),
        "{} is missing: run `cargo build -p windlass-sandbox --examples`",
        example.display()
    );
    example
}

/// Returns a script that starts a process which leaves its group and session, and a child of it
/// which leaves again.
pub(crate) fn detached_tree(marker: &str) -> String {
    format!("setsid sh -c 'setsid sleep {marker} & sleep {marker}' & echo started; sleep {marker}")
}

/// Returns the time until no process has the marker, or `None` if some still have it after twenty
/// seconds.
pub(crate) async fn time_to_vanish(marker: &str) -> Option<Duration> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        if processes_with(marker).is_empty() {
            return Some(start.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    None
}
