//! A real agent's world: a workspace, a home and a scripted model of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;
use windlass_gateway::{RunningModel, Script, ScriptReport, ScriptedModel};

use super::tools::install;

/// The home is away from the system's temporary folder, which Codex does not accept as a home.
pub(crate) struct World {
    folder: TempDir,
    pub(crate) model: RunningModel,
}

/// How an agent ended.
pub(crate) struct Ended {
    /// What it printed.
    pub(crate) stdout: String,
    /// What became of the script.
    pub(crate) report: ScriptReport,
    /// Everything, for a failing test to show.
    pub(crate) story: String,
}

impl World {
    /// A world with the files and the script.
    pub(crate) async fn new(script: Script, files: &[(&str, &str)]) -> Self {
        Self::on(ScriptedModel::new(script), files).await
    }

    /// A world with the files and the model.
    pub(crate) async fn on(model: ScriptedModel, files: &[(&str, &str)]) -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join("work").join(name), text).unwrap();
        }
        let listen = "127.0.0.1:0".parse().unwrap();
        let model = model.listen(listen).await.unwrap();
        Self { folder, model }
    }

    /// Where the agent works.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Where the agent keeps its own things.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A program of the gate or of the full tier, with nothing of ours in its environment.
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

    /// Codex with this model; the prompt is still to come.
    pub(crate) fn codex(&self, model: &str) -> Command {
        self.codex_on(&self.model.url(), model)
    }

    /// The same with a model API that is elsewhere.
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

    /// Claude Code; the prompt is still to come, after `--`.
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

    /// Runs an agent to its end.
    pub(crate) async fn run(&self, mut command: Command) -> Ended {
        let output = tokio::time::timeout(Duration::from_secs(180), command.output()).await;
        let output = output
            .unwrap_or_else(|_| panic!("it hangs: {}", self.requests()))
            .unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let report = self.model.report();
        let requests = self.requests();
        let story = format!(
            "{}\n{requests}\n{report}\n{stdout:.6000}\n{stderr:.3000}",
            output.status
        );
        Ended {
            stdout,
            report,
            story,
        }
    }

    fn requests(&self) -> String {
        self.model
            .requests()
            .iter()
            .map(|exchange| format!("{exchange}\n"))
            .collect()
    }

    /// A script of the tests.
    pub(crate) fn script(name: &str) -> Script {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
        Script::read(&folder.join(name)).unwrap()
    }
}
