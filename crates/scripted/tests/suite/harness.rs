//! The environment of a real agent: a workspace, a home directory and its own scripted model.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;
use windlass_scripted::{RunningModel, Script, ScriptReport, ScriptedModel};

use super::tools::{install, root};

/// The home is outside of the system's temporary directory, because Codex does not accept a home in it.
pub(crate) struct Harness {
    dir: TempDir,
    pub(crate) model: RunningModel,
}

/// The result of a run.
pub(crate) struct AgentRun {
    /// The standard output.
    pub(crate) stdout: String,
    /// The outcome of the script.
    pub(crate) report: ScriptReport,
    /// All output, for the message of a failing test.
    pub(crate) details: String,
}

impl Harness {
    /// Creates an environment with these files and this script.
    pub(crate) async fn new(script: Script, files: &[(&str, &str)]) -> Self {
        Self::on(ScriptedModel::new(script), files).await
    }

    /// Creates an environment with these files and this model.
    pub(crate) async fn on(model: ScriptedModel, files: &[(&str, &str)]) -> Self {
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::create_dir(dir.path().join("home")).unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join("work").join(name), text).unwrap();
        }
        let listen = "127.0.0.1:0".parse().unwrap();
        let model = model.listen(listen).await.unwrap();
        Self { dir, model }
    }

    /// Returns the workspace.
    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Returns the agent's home directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Returns a command for a program of a tier, with a clean environment.
    pub(crate) fn command(&self, tier: &str, name: &str) -> Command {
        let bin = install(tier, &format!("{tier}/node_modules/.bin"));
        let mut command = Command::new(bin.join(name));
        let path = std::env::var("PATH").unwrap();
        command
            .env_clear()
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("HOME", self.home())
            .current_dir(self.work())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Returns a Codex command with this model; the prompt must be appended.
    pub(crate) fn codex(&self, model: &str) -> Command {
        self.codex_on(&self.model.url(), model)
    }

    /// Like [`codex`](Self::codex), with a model API at another URL.
    pub(crate) fn codex_on(&self, url: &str, model: &str) -> Command {
        let provider = format!(
            r#"model_providers.scripted={{name="scripted",base_url="{url}/v1",env_key="KEY",wire_api="responses",request_max_retries=0,stream_max_retries=0}}"#,
        );
        let mut command = self.command("agents", "codex");
        command
            .env("KEY", "dummy")
            .args(["exec", "--json", "--skip-git-repo-check"])
            .arg("--dangerously-bypass-approvals-and-sandbox")
            .args([
                "-c",
                "model_provider=\"scripted\"",
                "-c",
                &provider,
                "-m",
                model,
            ]);
        command
    }

    /// Returns a Claude Code command; the prompt must be appended after `--`.
    pub(crate) fn claude(&self) -> Command {
        let mut command = self.command("agents", "claude");
        command
            .env("ANTHROPIC_API_KEY", "dummy")
            .env("ANTHROPIC_BASE_URL", self.model.url())
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("CLAUDE_CODE_MAX_RETRIES", "0")
            .args(["-p", "--output-format", "stream-json", "--verbose"]);
        command
    }

    /// Runs an agent until it exits.
    pub(crate) async fn run(&self, mut command: Command) -> AgentRun {
        let output = tokio::time::timeout(Duration::from_secs(180), command.output()).await;
        let output = output
            .unwrap_or_else(|_| panic!("the agent hangs: {}", self.requests()))
            .unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let report = self.model.report();
        let requests = self.requests();
        let details = format!(
            "{}\n{requests}\n{report}\n{stdout:.6000}\n{stderr:.3000}",
            output.status
        );
        AgentRun {
            stdout,
            report,
            details,
        }
    }

    fn requests(&self) -> String {
        self.model
            .requests()
            .iter()
            .map(|exchange| format!("{exchange}\n"))
            .collect()
    }

    /// Reads one of the tests' scripts.
    pub(crate) fn script(name: &str) -> Script {
        let dir = root().join("crates/scripted/tests/scripts");
        Script::read(&dir.join(name)).unwrap()
    }
}
