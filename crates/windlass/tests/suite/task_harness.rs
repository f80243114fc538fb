//! A project with a repository, a test command and an agent that plays a script, for tests of the full task loop.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use assert_cmd::Command;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::cli_harness::Run;

/// Long enough for a busy machine. A test that waits until it expires sets its own.
const LEASE: &str = "lease_secs = 60";

/// A project with its own home. It is not in the usual directory for temporary files, because each sandboxed process
/// has its own.
pub(crate) struct TaskHarness {
    root: TempDir,
}

/// A script that writes a file and ends.
pub(crate) const INSTANT: &str = r#"{"turns": [
  {"when": {"turn": 1}, "or_more": true, "answer": [{"write_file": {"path": "done.txt", "content": "done\n"}}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"#;

impl TaskHarness {
    /// Creates a project with this shell command as its test, and a mock that plays this script.
    pub(crate) fn new(test: &str, script: &str) -> Self {
        let root = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let harness = Self { root };
        std::fs::create_dir_all(harness.home()).unwrap();
        std::fs::create_dir_all(harness.project()).unwrap();
        harness.file("greet.sh", "echo \"Hello, $1!\"\n");
        harness.git(&["init", "-q", "-b", "main"]);
        harness.git(&["add", "-A"]);
        harness.git(&["commit", "-q", "-m", "Begin"]);
        std::fs::write(harness.path("script.json"), script).unwrap();
        harness.configure(
            &format!("sqlite:{}", harness.path("tasks.db").display()),
            test,
        );
        harness
    }

    /// Writes the configuration with this store and test command.
    pub(crate) fn configure(&self, store: &str, test: &str) {
        let script = self.path("script.json");
        let config = format!(
            "default_agent = \"player\"\n\
             [agents.player]\nbackend = \"mock\"\nscript = {script:?}\n\
             [store]\nurl = {store:?}\n\
             [worker]\n{LEASE}\n\
             [tests]\ncommand = [\"sh\", \"-c\", {test:?}]\n"
        );
        std::fs::write(self.path("named.toml"), config).unwrap();
    }

    /// Sets the lease, for a test that waits until it expires.
    pub(crate) fn lease(&self, seconds: u32) {
        let file = self.path("named.toml");
        let config = std::fs::read_to_string(&file).unwrap();
        let config = config.replace(LEASE, &format!("lease_secs = {seconds}"));
        std::fs::write(&file, config).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    pub(crate) fn file(&self, name: &str, text: &str) {
        std::fs::write(self.project().join(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.project().join(name)).unwrap()
    }

    /// Runs git in the project without user settings, and returns its output.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.current_dir(self.project())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(["-c", "user.name=Me", "-c", "user.email=me@localhost"])
            .args(args);
        let output = git.output().unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the program in the project with the harness's configuration.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        Run::of(self.command().args(args))
    }

    /// Returns the command that [`run`](Self::run) starts.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::cargo_bin("windlass").unwrap();
        command
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(self.project())
            .arg("--config")
            .arg(self.path("named.toml"));
        command
    }

    /// Runs the program, which must succeed, and parses its output as JSON.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        let run = self.run(args);
        assert_eq!(run.code, 0, "{args:?}: {}{}", run.stdout, run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    }

    /// Starts a worker in the background.
    pub(crate) fn worker(&self) -> Child {
        self.worker_with(&[])
    }

    /// Returns the program in the project as a child whose pipes and signals a test controls.
    #[expect(
        clippy::disallowed_methods,
        reason = "a test that signals or talks to the program needs the child itself"
    )]
    pub(crate) fn child(&self, args: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("windlass"));
        command
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("KEY", "not-a-real-key")
            .current_dir(self.project())
            .arg("--config")
            .arg(self.path("named.toml"))
            .args(args)
            .stdin(Stdio::null());
        command
    }

    /// Starts a worker in the background with these flags; its stdout can be read.
    pub(crate) fn worker_with(&self, flags: &[&str]) -> Child {
        self.child(&["worker", "--concurrency", "1"])
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Returns the texts of a file in the clones with this directory name, in the directories of all stores.
    pub(crate) fn clone_files(&self, clone: &str, file: &str) -> Vec<String> {
        let places = self.home().join(".local/state/windlass/places");
        let stores = std::fs::read_dir(places).into_iter().flatten().flatten();
        let paths = stores.map(|store| store.path().join(clone).join("project").join(file));
        paths
            .filter_map(|path| std::fs::read_to_string(path).ok())
            .collect()
    }

    /// Returns every process whose environment or arguments contain the path of this harness.
    pub(crate) fn processes(&self) -> Vec<String> {
        let describe = |path: PathBuf| {
            let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
            format!("{} {}", path.display(), String::from_utf8_lossy(&line))
        };
        self.process_dirs().map(describe).collect()
    }

    fn process_dirs(&self) -> impl Iterator<Item = PathBuf> {
        let needle = self.root.path().as_os_str().as_encoded_bytes();
        let names = move |file: &Path| {
            let bytes = std::fs::read(file).unwrap_or_default();
            bytes.windows(needle.len()).any(|part| part == needle)
        };
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries
            .map(|entry| entry.path())
            .filter(move |path| names(&path.join("environ")) || names(&path.join("cmdline")))
    }
}

impl Drop for TaskHarness {
    /// Ends what a test that failed has left running.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for path in self.process_dirs() {
            let id = path
                .file_name()
                .and_then(|name| name.to_str()?.parse().ok());
            if let Some(pid) = id.and_then(Pid::from_raw) {
                // It may have ended.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}
