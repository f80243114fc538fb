//! A user with secrets, a project to work in, and tools for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_core::{DirAccess, Error, Tool, ToolOutput, Toolbox};
use windlass_sandbox::{Host, Mechanism, Sandbox};
use windlass_tools::LocalTools;
use windlass_workspace::paths::Root;

/// The mechanisms that isolate.
pub(crate) const ISOLATING: [Mechanism; 2] = [Mechanism::Bubblewrap, Mechanism::Landlock];

/// A user with a home directory that contains secrets, and a project in it.
pub(crate) struct User {
    home: TempDir,
}

impl User {
    pub(crate) fn new() -> Self {
        // Not under `/tmp`, because every sandboxed command has its own.
        Self::new_in(env!("CARGO_TARGET_TMPDIR"))
    }

    /// Creates a user at a path that a shell treats as one word without quotes.
    pub(crate) fn with_plain_path() -> Self {
        let default = env!("CARGO_TARGET_TMPDIR");
        let is_plain = default
            .chars()
            .all(|c| c.is_alphanumeric() || "/-_.".contains(c));
        Self::new_in(if is_plain { default } else { "/tmp" })
    }

    fn new_in(parent: &str) -> Self {
        let user = Self {
            home: TempDir::with_prefix_in("user-", parent).unwrap(),
        };
        std::fs::create_dir(user.project()).unwrap();
        user
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.home.path().canonicalize().unwrap()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    pub(crate) fn root(&self) -> Root {
        Root::open(&self.project()).unwrap()
    }

    /// Writes a file in the home directory, and creates missing directories.
    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Writes a file in the project.
    pub(crate) fn put(&self, name: &str, content: &str) -> PathBuf {
        self.write(&format!("project/{name}"), content)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.project().join(name)).unwrap()
    }

    fn host(&self, first: &str) -> Host {
        Host::new([
            ("HOME", self.home().to_str().unwrap()),
            ("PATH", &format!("{first}/usr/local/bin:/usr/bin:/bin")),
            ("SECRET_TOKEN", "canary-token"),
            ("OPENAI_API_KEY", "canary-key"),
            ("LD_PRELOAD", "/canary.so"),
        ])
    }

    pub(crate) async fn sandbox(&self, mechanism: Mechanism) -> Sandbox {
        Sandbox::with_mechanism(self.host(""), mechanism)
            .await
            .unwrap()
    }

    /// Returns the strongest sandbox, with these programs first in PATH.
    pub(crate) async fn sandbox_with_path(&self, dir: &Path) -> Sandbox {
        let first = format!("{}:", dir.display());
        Sandbox::detect(self.host(&first)).await.unwrap()
    }

    /// Like [`sandbox_with_path`](Self::sandbox_with_path), with these programs and their installation
    /// readable.
    pub(crate) async fn sandbox_with_readable(&self, dir: &Path) -> Sandbox {
        let host = self.host(&format!("{}:", dir.display()));
        Sandbox::detect(host.with_readable(dir.parent()))
            .await
            .unwrap()
    }

    pub(crate) async fn tools(&self, mechanism: Mechanism) -> Tools {
        self.tools_of(LocalTools::new(self.sandbox(mechanism).await))
    }

    pub(crate) fn tools_of(&self, toolbox: LocalTools) -> Tools {
        Tools(toolbox.tools(&self.project(), DirAccess::Files).unwrap())
    }

    /// Returns the file tools, for tests that run no commands.
    pub(crate) fn files(&self) -> Tools {
        self.tools_of(LocalTools::without_isolation(
            "no command is run in this test",
        ))
    }
}

pub(crate) struct Tools(pub(crate) Vec<Arc<dyn Tool>>);

impl Tools {
    pub(crate) async fn try_call(&self, name: &str, input: Value) -> Result<ToolOutput, Error> {
        let tool = self.0.iter().find(|tool| tool.spec().name == name);
        tool.unwrap_or_else(|| panic!("no tool {name}"))
            .call(input)
            .await
    }

    pub(crate) async fn call(&self, name: &str, input: Value) -> ToolOutput {
        self.try_call(name, input).await.unwrap()
    }

    pub(crate) async fn shell(&self, cmd: &str) -> ToolOutput {
        self.call("shell_run", json!({"cmd": cmd})).await
    }

    pub(crate) async fn python(&self, code: &str) -> ToolOutput {
        self.call("python_run", json!({"mode": "snippet", "code": code}))
            .await
    }
}

/// Returns whether the call succeeded, and its text.
pub(crate) fn text_of(output: &ToolOutput) -> (bool, &str) {
    (output.success, &output.text)
}

/// Returns `true` if the command line of any process contains the mark.
pub(crate) fn is_running(mark: &str) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(mark))
}

/// Returns `true` if no process has the mark any more, within two seconds.
pub(crate) async fn disappears(mark: &str) -> bool {
    for _ in 0..400 {
        if !is_running(mark) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    false
}
