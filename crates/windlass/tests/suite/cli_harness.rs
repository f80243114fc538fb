//! A home directory and a project for one test, and the program run in it.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

pub(crate) struct Harness {
    root: TempDir,
}

/// Output and exit code of a run of the program.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Harness {
    pub(crate) fn new() -> Self {
        let harness = Self {
            root: TempDir::new().unwrap(),
        };
        std::fs::create_dir_all(harness.home()).unwrap();
        std::fs::create_dir_all(harness.project().join(".git")).unwrap();
        harness
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// Writes a file in the project.
    pub(crate) fn file(&self, name: &str, text: &str) -> &Self {
        std::fs::write(self.project().join(name), text).unwrap();
        self
    }

    /// Returns a command that runs the program in the project, with only HOME and PATH set.
    pub(crate) fn windlass(&self) -> Command {
        let mut command = Command::cargo_bin("windlass").unwrap();
        command
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(self.project());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        Run::of(self.windlass().args(args))
    }

    /// Writes a configuration file for `--config`, which is therefore trusted.
    pub(crate) fn config(&self, text: &str) -> PathBuf {
        let path = self.root.path().join("named.toml");
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn ask_with(&self, config: &str, args: &[&str]) -> Run {
        let path = self.config(config);
        let mut all = vec!["ask", "--config", text(&path)];
        all.extend(args);
        self.run(&all)
    }
}

impl Run {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns the error message, which must be the only line on stderr.
    #[track_caller]
    pub(crate) fn error(&self) -> &str {
        let lines: Vec<&str> = self.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "one sentence, not {:?}", self.stderr);
        lines[0].strip_prefix("error: ").unwrap()
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
