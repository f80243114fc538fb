//! A user, a project, and servers for it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use tempfile::TempDir;
use windlass_core::McpServer;
use windlass_mcp::{Error, McpLimits, McpServers, demo};
use windlass_sandbox::{Host, Sandbox};

/// A user with a home folder, a project in it, and a secret in the environment.
pub(crate) struct User {
    folder: TempDir,
}

impl User {
    pub(crate) fn new() -> Self {
        // Not under `/tmp`, which every child has its own of.
        let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
        Self {
            folder: TempDir::with_prefix_in("user-", place).unwrap(),
        }
    }

    pub(crate) fn project(&self) -> PathBuf {
        let project = self.folder.path().canonicalize().unwrap().join("project");
        std::fs::create_dir_all(&project).unwrap();
        project
    }

    pub(crate) async fn sandbox(&self) -> Sandbox {
        let host = Host::new([
            ("HOME", self.folder.path().to_str().unwrap()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("SECRET_TOKEN", "canary"),
        ]);
        // A script that starts the demonstration server must find it, wherever it was built.
        let programs = Path::new(env!("CARGO_BIN_EXE_windlass-mcp-demo")).parent();
        Sandbox::detect(host.with_readable(programs)).await.unwrap()
    }

    pub(crate) async fn connect(&self, servers: &[McpServer]) -> Result<McpServers, Error> {
        McpServers::connect(&self.sandbox().await, servers, &self.project()).await
    }

    pub(crate) async fn connect_within(
        &self,
        servers: &[McpServer],
        limits: McpLimits,
    ) -> Result<McpServers, Error> {
        McpServers::connect_with_limits(&self.sandbox().await, servers, &self.project(), limits)
            .await
    }

    /// The demonstration servers of these names, running.
    pub(crate) async fn demos(&self, names: &[&str]) -> McpServers {
        let servers: Vec<McpServer> = names.iter().map(|name| server(name)).collect();
        self.connect(&servers).await.unwrap()
    }
}

/// How to start the demonstration server of this name.
pub(crate) fn server(name: &str) -> McpServer {
    demo::server(name).unwrap()
}

/// A server that is a shell script.
pub(crate) fn script(name: &str, script: &str) -> McpServer {
    McpServer {
        name: name.to_owned(),
        command: "bash".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: Default::default(),
    }
}

/// A server in a few lines of shell: it greets, answers what comes next with these lines, one each, and then reads no more.
pub(crate) fn shell(name: &str, lines: &[&str]) -> McpServer {
    let greeting = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}}"#;
    let mut text = format!("read l; echo '{greeting}'; read l;");
    for line in lines {
        text += &format!("read l; echo '{line}';");
    }
    script(name, &(text + "sleep 600"))
}

/// Arguments for a tool.
pub(crate) fn arguments(value: Value) -> Map<String, Value> {
    let Value::Object(arguments) = value else {
        panic!("arguments are an object")
    };
    arguments
}

/// Little time to start, little time for a call.
pub(crate) fn hurry(start: u64, call: u64) -> McpLimits {
    McpLimits {
        start: Duration::from_millis(start),
        call: Duration::from_millis(call),
    }
}

/// Whether a process of this machine still has the mark in its command line.
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
