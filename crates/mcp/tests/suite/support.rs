//! A user with a project, and servers for it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use tempfile::TempDir;
use windlass_core::{DirAccess, McpServer};
use windlass_mcp::{Error, McpLimits, McpServers, demo};
use windlass_sandbox::{Host, Sandbox};

/// A user with a home directory, a project in it, and a secret in the environment.
pub(crate) struct User {
    home: TempDir,
}

impl User {
    pub(crate) fn new() -> Self {
        // Not under `/tmp`, because every sandboxed process has its own.
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
        Self {
            home: TempDir::with_prefix_in("user-", dir).unwrap(),
        }
    }

    pub(crate) fn project(&self) -> PathBuf {
        let project = self.home.path().canonicalize().unwrap().join("project");
        std::fs::create_dir_all(&project).unwrap();
        project
    }

    pub(crate) async fn sandbox(&self) -> Sandbox {
        let host = Host::new([
            ("HOME", self.home.path().to_str().unwrap()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("SECRET_TOKEN", "canary"),
        ]);
        // A script that starts the demo server must find it in the build directory.
        let programs = Path::new(env!("CARGO_BIN_EXE_windlass-mcp-demo")).parent();
        Sandbox::detect(host.with_readable(programs)).await.unwrap()
    }

    pub(crate) async fn connect(&self, servers: &[McpServer]) -> Result<McpServers, Error> {
        McpServers::connect(
            &self.sandbox().await,
            servers,
            &self.project(),
            DirAccess::Files,
        )
        .await
    }

    pub(crate) async fn connect_with_limits(
        &self,
        servers: &[McpServer],
        limits: McpLimits,
    ) -> Result<McpServers, Error> {
        McpServers::connect_with_limits(
            &self.sandbox().await,
            servers,
            &self.project(),
            DirAccess::Files,
            limits,
        )
        .await
    }

    /// Starts the demo servers with these names.
    pub(crate) async fn demos(&self, names: &[&str]) -> McpServers {
        let servers: Vec<McpServer> = names.iter().map(|name| server(name)).collect();
        self.connect(&servers).await.unwrap()
    }
}

/// Returns how to start the demo server of this name.
pub(crate) fn server(name: &str) -> McpServer {
    demo::server(name).unwrap()
}

/// Creates a server that is a shell script.
pub(crate) fn script(name: &str, script: &str) -> McpServer {
    McpServer {
        name: name.to_owned(),
        command: "bash".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: Default::default(),
        network: None,
    }
}

/// Creates a server in shell: it performs the handshake, responds to each following request with one of these
/// lines, and then reads no more.
pub(crate) fn shell(name: &str, lines: &[&str]) -> McpServer {
    let greeting = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}}"#;
    let mut text = format!("read l; echo '{greeting}'; read l;");
    for line in lines {
        text += &format!("read l; echo '{line}';");
    }
    script(name, &(text + "sleep 600"))
}

/// Creates the arguments of a tool.
pub(crate) fn arguments(value: Value) -> Map<String, Value> {
    let Value::Object(arguments) = value else {
        panic!("arguments are an object")
    };
    arguments
}

/// Creates limits in milliseconds.
pub(crate) fn limits_ms(start: u64, call: u64) -> McpLimits {
    McpLimits {
        start: Duration::from_millis(start),
        call: Duration::from_millis(call),
    }
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
