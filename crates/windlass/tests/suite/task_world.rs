//! A project with a repository, a test and an agent that plays a script, for tests of the whole loop.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use assert_cmd::Command;
use tempfile::TempDir;

use super::cli_world::Run;

/// Long enough for a busy machine, short enough to wait for.
const LEASE: &str = "lease_secs = 10";

/// Not in the usual folder for temporary files, which is private to every process in a sandbox.
pub(crate) struct TaskWorld {
    root: TempDir,
}

/// Writes a file and says so: what an agent does that needs no thought.
pub(crate) const INSTANT: &str = r#"{"turns": [
  {"when": {"turn": 1}, "or_more": true, "answer": [{"write_file": {"path": "done.txt", "content": "done\n"}}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"#;

impl TaskWorld {
    /// A project that is tested by this shell command, and a mock that plays this script.
    pub(crate) fn new(test: &str, script: &str) -> Self {
        let root = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let world = Self { root };
        std::fs::create_dir_all(world.home()).unwrap();
        std::fs::create_dir_all(world.project()).unwrap();
        world.file("greet.sh", "echo \"Hello, $1!\"\n");
        world.git(&["init", "-q", "-b", "main"]);
        world.git(&["add", "-A"]);
        world.git(&["commit", "-q", "-m", "Begin"]);
        std::fs::write(world.path("script.json"), script).unwrap();
        world.configure(
            &format!("sqlite:{}", world.path("tasks.db").display()),
            test,
        );
        world
    }

    /// Another store, the same project.
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

    /// Another lease: short where a test waits for its end, long where a busy machine must not lose it.
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

    /// What git says in the project, as somebody with no settings of their own.
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

    /// The program in the project, with the configuration of this world.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        Run::of(self.command().args(args))
    }

    /// The same, not yet started.
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

    /// The same, expected to end well; what it prints is JSON.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        let run = self.run(args);
        assert_eq!(run.code, 0, "{args:?}: {}{}", run.stdout, run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    }

    /// A worker that goes on by itself.
    pub(crate) fn worker(&self) -> Child {
        self.worker_with(&[])
    }

    /// The same with these flags; what it prints can be read.
    pub(crate) fn worker_with(&self, flags: &[&str]) -> Child {
        #[expect(
            clippy::disallowed_methods,
            reason = "a test that signals needs the child itself"
        )]
        std::process::Command::new(assert_cmd::cargo::cargo_bin("windlass"))
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("KEY", "not-a-real-key")
            .current_dir(self.project())
            .arg("--config")
            .arg(self.path("named.toml"))
            .args(["worker", "--concurrency", "1"])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Every process whose environment or arguments name this world.
    pub(crate) fn processes(&self) -> Vec<String> {
        let needle = self.root.path().as_os_str().as_encoded_bytes();
        let names = |file: &Path| {
            let bytes = std::fs::read(file).unwrap_or_default();
            bytes.windows(needle.len()).any(|part| part == needle)
        };
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| names(&path.join("environ")) || names(&path.join("cmdline")))
            .map(|path| {
                let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
                format!("{} {}", path.display(), String::from_utf8_lossy(&line))
            })
            .collect()
    }
}
