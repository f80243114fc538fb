//! The test harness: a temporary home, repository and state directory, and real agents with a scripted model.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_agents::{AgentContext, cli};
use windlass_core::{AgentEvent, AgentHandle, SessionId, SessionOptions};
use windlass_sandbox::{Host, Sandbox};
use windlass_scripted::{RunningModel, Script, ScriptedModel};

/// An API key. It must appear nowhere except in the agent's request headers or environment.
pub(crate) const KEY: &str = "canary-4d1f9c";

/// Temporary directories of one test. They are not in the system's temporary directory, because every sandboxed process
/// has a private one.
pub(crate) struct Harness {
    dir: TempDir,
}

/// Returns the directory of the MCP server scripts, which is outside of the working directory. The path contains no
/// `..`: in the sandbox, only this directory of the repository may exist.
pub(crate) fn mcp_scripts() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    crates.join("scripted/tests/mcp")
}

impl Harness {
    pub(crate) fn new() -> Self {
        let dir = TempDir::with_prefix_in("agents-", env!("CARGO_TARGET_TMPDIR")).unwrap();
        for name in ["home", "work", "state"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let harness = Self { dir };
        let work = harness.work();
        let git = Command::new("git").args(["init", "-q"]).arg(&work).status();
        assert!(git.unwrap().success());
        std::fs::write(work.join("notes.txt"), "one\ntwo\n").unwrap();
        harness
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.at("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.at("work")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.at("state")
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work().join(name)).unwrap_or_default()
    }

    /// Returns a context whose `PATH` has these directories before those of the system.
    pub(crate) async fn context(&self, dirs: &[PathBuf]) -> AgentContext {
        let system = PathBuf::from("/usr/local/bin:/usr/bin:/bin");
        let path = std::env::join_paths(dirs).unwrap();
        let path = format!("{}:{}", path.display(), system.display());
        let home = self.home();
        let host = Host::new([
            ("HOME", home.to_str().unwrap()),
            ("PATH", path.trim_start_matches(':')),
            ("TEST_KEY", KEY),
            ("SECRET_TOKEN", "canary-other"),
        ]);
        let sandbox = Sandbox::detect(host.with_readable([mcp_scripts()]))
            .await
            .unwrap_or_else(|error| panic!("{error}: run `cargo build -p windlass-sandbox` first"));
        AgentContext::new(sandbox, self.state()).in_dir(self.work())
    }

    /// Returns the processes that run in this harness's repository.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let work = self.work();
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_here = |pid: &u32| {
            std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&work))
        };
        pids.filter(is_here).collect()
    }

    /// Waits up to 2 s until no process runs in the repository. Returns `false` on a timeout.
    pub(crate) async fn wait_for_exit(&self) -> bool {
        for _ in 0..40 {
            if self.processes().is_empty() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }
}

/// Returns the directory of the real programs of this tier, and installs them if they are missing.
pub(crate) fn programs(tier: &str) -> PathBuf {
    static INSTALLED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut installed = INSTALLED.lock();
    if !installed.iter().any(|installed| installed == tier) {
        let setup = root.join("scripts/setup");
        let output = Command::new(setup).args(["--only", tier]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        installed.push(tier.to_owned());
    }
    root.canonicalize()
        .unwrap()
        .join(".cache")
        .join(tier)
        .join("node_modules/.bin")
}

/// A real agent under test, in its own harness, with a scripted model.
pub(crate) struct Subject {
    pub(crate) harness: Harness,
    pub(crate) model: RunningModel,
    pub(crate) context: AgentContext,
    pub(crate) agent: &'static str,
    transport: &'static str,
}

impl Subject {
    pub(crate) async fn new(agent: &'static str, transport: &'static str, script: Value) -> Self {
        let harness = Harness::new();
        let script = Script::parse(&script.to_string(), "test").unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        let tier = if agent == "qwen" {
            "agents-full"
        } else {
            "agents"
        };
        Self {
            model: ScriptedModel::start(script, listen).await.unwrap(),
            context: harness.context(&[programs(tier)]).await,
            harness,
            agent,
            transport,
        }
    }

    /// Returns the agent's configuration, with only one retry.
    pub(crate) fn config(&self, permissions: &str) -> Value {
        let retries = ["request", "stream"].map(|kind| {
            let key = format!("model_providers.windlass.{kind}_max_retries=1");
            ["-c".to_owned(), key]
        });
        let mut config = json!({
            "endpoint": self.model.url(),
            "api_key_env": "TEST_KEY",
            "transport": self.transport,
            "permissions": permissions,
            "extra_env": { "CLAUDE_CODE_MAX_RETRIES": "1" },
        });
        match self.agent {
            "codex" => {
                config["model"] = "gpt-5.5".into();
                config["extra_args"] = json!(retries.concat());
            }
            "qwen" => config["model"] = "qwen3-coder-plus".into(),
            _ => {}
        }
        config
    }

    /// Creates a separate backend that shares no state with the others.
    pub(crate) fn handle(&self, permissions: &str) -> AgentHandle {
        let profile = cli::PROFILES
            .iter()
            .find(|profile| profile.name() == self.agent)
            .unwrap();
        let make = cli::factory(profile, self.context.clone());
        make(&self.config(permissions)).unwrap()
    }

    pub(crate) fn options(&self) -> SessionOptions {
        SessionOptions::in_dir(self.harness.work())
    }

    /// Runs one turn in a new session.
    pub(crate) async fn ask(&self, permissions: &str) -> Vec<AgentEvent> {
        let handle = self.handle(permissions);
        let mut session = handle.new_session(self.options()).await.unwrap();
        turn(&handle, &mut session, "Do as agreed").await
    }
}

/// Runs one turn, and updates `session` if its id changed.
pub(crate) async fn turn(
    handle: &AgentHandle,
    session: &mut SessionId,
    prompt: &str,
) -> Vec<AgentEvent> {
    let events = handle
        .prompt(session, prompt)
        .await
        .unwrap()
        .collect()
        .await;
    for event in &events {
        if let AgentEvent::SessionChanged { new_session_id } = event {
            *session = new_session_id.as_str().into();
        }
    }
    events
}
