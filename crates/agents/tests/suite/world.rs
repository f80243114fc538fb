//! A user with a home, a repository and an agent to try things on.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_agents::{AgentContext, cli};
use windlass_core::{AgentEvent, AgentHandle, SessionId, SessionOptions};
use windlass_gateway::{RunningModel, Script, ScriptedModel};
use windlass_sandbox::{Host, Sandbox};

/// The key that must be seen nowhere but where it belongs.
pub(crate) const KEY: &str = "canary-4d1f9c";

/// Away from the folder for temporary files, which every process has its own of.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = TempDir::with_prefix_in("agents-", env!("CARGO_TARGET_TMPDIR")).unwrap();
        for name in ["home", "work", "state"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let world = Self { folder };
        let work = world.work();
        let git = Command::new("git").args(["init", "-q"]).arg(&work).status();
        assert!(git.unwrap().success());
        std::fs::write(work.join("notes.txt"), "one\ntwo\n").unwrap();
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
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

    /// Agents of this user, found in these folders before the system's.
    pub(crate) async fn context(&self, folders: &[PathBuf]) -> AgentContext {
        let system = PathBuf::from("/usr/local/bin:/usr/bin:/bin");
        let path = std::env::join_paths(folders).unwrap();
        let path = format!("{}:{}", path.display(), system.display());
        let home = self.home();
        let host = Host::new([
            ("HOME", home.to_str().unwrap()),
            ("PATH", path.trim_start_matches(':')),
            ("TEST_KEY", KEY),
            ("SECRET_TOKEN", "canary-other"),
        ]);
        // The script of an MCP server, wherever this repository is.
        let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/../gateway/tests/mcp");
        let sandbox = Sandbox::detect(host.with_readable([scripts]))
            .await
            .unwrap_or_else(|error| panic!("{error}: run `cargo build -p windlass-sandbox` first"));
        AgentContext::new(sandbox, self.state()).in_dir(self.work())
    }

    /// Processes that work in this world's repository.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let work = self.work();
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let here = |pid: &u32| {
            std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&work))
        };
        pids.filter(here).collect()
    }

    /// Waits until no process works here any more, for as long as is promised.
    pub(crate) async fn is_left(&self) -> bool {
        for _ in 0..40 {
            if self.processes().is_empty() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }
}

/// Where the real programs are; what is not there yet is installed.
pub(crate) fn programs(tier: &str) -> PathBuf {
    static INSTALLED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if !installed.iter().any(|there| there == tier) {
        let setup = root.join("scripts/setup");
        let output = Command::new(setup).args(["--only", tier]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        installed.push(tier.to_owned());
    }
    root.canonicalize()
        .unwrap()
        .join(".cache")
        .join(tier)
        .join("node_modules/.bin")
}

/// A real agent in a world of its own, with a model that says what a script says.
pub(crate) struct Subject {
    pub(crate) world: World,
    pub(crate) model: RunningModel,
    pub(crate) context: AgentContext,
    pub(crate) agent: &'static str,
    transport: &'static str,
}

impl Subject {
    pub(crate) async fn new(agent: &'static str, transport: &'static str, script: Value) -> Self {
        let world = World::new();
        let script = Script::parse(&script.to_string(), "test").unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        let tier = if agent == "qwen" {
            "agents-full"
        } else {
            "agents"
        };
        Self {
            model: ScriptedModel::start(script, listen).await.unwrap(),
            context: world.context(&[programs(tier)]).await,
            world,
            agent,
            transport,
        }
    }

    /// The agent as its configuration has it, patient with nothing.
    pub(crate) fn config(&self, permissions: &str) -> Value {
        let quick = ["request", "stream"].map(|what| {
            let key = format!("model_providers.windlass.{what}_max_retries=1");
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
                config["extra_args"] = json!(quick.concat());
            }
            "qwen" => config["model"] = "qwen3-coder-plus".into(),
            _ => {}
        }
        config
    }

    /// A backend of its own, which knows nothing of the others.
    pub(crate) fn handle(&self, permissions: &str) -> AgentHandle {
        let profile = cli::PROFILES
            .iter()
            .find(|profile| profile.name == self.agent)
            .unwrap();
        let make = cli::factory(profile, self.context.clone());
        make(&self.config(permissions)).unwrap()
    }

    pub(crate) fn options(&self) -> SessionOptions {
        SessionOptions::in_dir(self.world.work())
    }

    /// One turn in a new session.
    pub(crate) async fn ask(&self, permissions: &str) -> Vec<AgentEvent> {
        let handle = self.handle(permissions);
        let mut session = handle.new_session(self.options()).await.unwrap();
        turn(&handle, &mut session, "Do as agreed").await
    }
}

/// One turn, after which the session may have another name.
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
