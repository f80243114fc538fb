//! A user with secrets, a project to work in, and tools for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_core::{Error, Tool, ToolOutput, Toolbox};
use windlass_sandbox::{Host, Mechanism, Sandbox};
use windlass_tools::LocalTools;
use windlass_workspace::paths::Root;

/// The mechanisms that have walls.
pub(crate) const BOUND: [Mechanism; 2] = [Mechanism::Bubblewrap, Mechanism::Landlock];

/// A user with a home folder full of secrets, and a project in it.
pub(crate) struct User {
    folder: TempDir,
}

impl User {
    pub(crate) fn new() -> Self {
        // Not under `/tmp`, which every command has its own of.
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
        let user = Self {
            folder: TempDir::with_prefix_in("user-", parent).unwrap(),
        };
        std::fs::create_dir(user.project()).unwrap();
        user
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    pub(crate) fn root(&self) -> Root {
        Root::open(&self.project()).unwrap()
    }

    /// Puts a file into the home folder, with all folders it needs.
    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Puts a file into the project.
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

    /// The strongest sandbox, with these programs first.
    pub(crate) async fn sandbox_with(&self, folder: &Path) -> Sandbox {
        let first = format!("{}:", folder.display());
        Sandbox::detect(self.host(&first)).await.unwrap()
    }

    /// The same, with these programs and what is installed along with them readable wherever they are.
    pub(crate) async fn sandbox_showing(&self, folder: &Path) -> Sandbox {
        let host = self.host(&format!("{}:", folder.display()));
        Sandbox::detect(host.with_readable(folder.parent()))
            .await
            .unwrap()
    }

    pub(crate) async fn tools(&self, mechanism: Mechanism) -> Tools {
        self.tools_of(LocalTools::new(self.sandbox(mechanism).await))
    }

    pub(crate) fn tools_of(&self, toolbox: LocalTools) -> Tools {
        Tools(toolbox.tools(&self.project()).unwrap())
    }

    /// File tools, for tests that run nothing.
    pub(crate) fn files(&self) -> Tools {
        self.tools_of(LocalTools::without_isolation("nothing is run in this test"))
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

/// What came out, and whether it went well.
pub(crate) fn said(output: &ToolOutput) -> (bool, &str) {
    (output.success, &output.text)
}

/// Whether a process of this machine has the mark in its command line.
pub(crate) fn is_running(mark: &str) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(mark))
}

/// Whether within two seconds no process has the mark any more.
pub(crate) async fn vanishes(mark: &str) -> bool {
    for _ in 0..400 {
        if !is_running(mark) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    false
}
