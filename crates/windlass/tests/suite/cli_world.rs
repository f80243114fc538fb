//! A user's machine for one test: a home, a project, and the program in it.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

pub(crate) struct World {
    root: TempDir,
}

/// What a run of the program left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self {
            root: TempDir::new().unwrap(),
        };
        std::fs::create_dir_all(world.home()).unwrap();
        std::fs::create_dir_all(world.project().join(".git")).unwrap();
        world
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// Writes a file of the project.
    pub(crate) fn file(&self, name: &str, text: &str) -> &Self {
        std::fs::write(self.project().join(name), text).unwrap();
        self
    }

    /// The program, started in the project with nothing but a home and a path.
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

    /// A configuration file that the command line names, and that is therefore trusted.
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

    /// The one line on stderr that says what went wrong.
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
