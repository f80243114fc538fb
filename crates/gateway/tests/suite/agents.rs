//! Real agents, unmodified, on one and the same script: each reads, edits, writes and runs with its own tools.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;
use windlass_gateway::{Running, Script, ScriptedModel};

use super::tools::{full, install};

const PROMPT: &str = "Change the notes as agreed";

/// A workspace and a home of its own, away from the system's temporary folder, which Codex does not accept as a home.
struct World {
    folder: TempDir,
    model: Running,
}

impl World {
    async fn new() -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        std::fs::write(folder.path().join("work/notes.txt"), "one\ntwo\nthree\n").unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/edit.json");
        let script = Script::read(&script).unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        let model = ScriptedModel::start(script, listen).await.unwrap();
        Self { folder, model }
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A program with nothing of ours in its environment.
    fn command(&self, bin: &Path) -> Command {
        let mut command = Command::new(bin);
        let path = std::env::var("PATH").unwrap();
        command
            .env_clear()
            .env(
                "PATH",
                format!("{}:{path}", bin.parent().unwrap().display()),
            )
            .env("HOME", self.home())
            .current_dir(self.work())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Runs an agent to its end and checks that it did all that the script says.
    async fn run(self, mut command: Command) {
        let limit = Duration::from_secs(90);
        let output = tokio::time::timeout(limit, command.output()).await;
        let output =
            output.unwrap_or_else(|_| panic!("{} hangs: {}", self.story(), self.model.report()));
        let output = output.unwrap();
        let said = self.said(&output);
        let read = |name: &str| {
            let text = std::fs::read_to_string(self.work().join(name));
            text.unwrap_or_else(|error| panic!("{name}: {error}\n{said}"))
        };
        assert!(output.status.success(), "{said}");
        assert_eq!(
            read("notes.txt"),
            "one\n2 (it's \"two\")\nthree\n",
            "{said}"
        );
        assert_eq!(
            read("deep/er/new.txt"),
            "first\n\nthird, with 'quotes' and $HOME\n",
            "{said}"
        );
        assert_eq!(
            read("both.txt"),
            format!("{}{}", read("notes.txt"), read("deep/er/new.txt"))
        );
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("All done."),
            "{said}"
        );
        let report = self.model.stop().await;
        assert!(report.is_clean(), "{report}");
        assert_eq!(report.turns, 5);
    }

    fn said(&self, output: &Output) -> String {
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes)
                .chars()
                .take(4000)
                .collect::<String>()
        };
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        format!(
            "{}\n{}\n{stdout}\n{stderr}",
            self.story(),
            self.model.report()
        )
    }

    fn story(&self) -> String {
        self.model
            .requests()
            .iter()
            .map(|exchange| format!("{exchange}\n"))
            .collect()
    }
}

async fn codex(model: &str) {
    let bin = install("agents", "agents/node_modules/.bin").join("codex");
    let world = World::new().await;
    let mut command = world.command(&bin);
    let provider = format!(
        r#"model_providers.scripted={{name="scripted",base_url="{}/v1",env_key="KEY",wire_api="responses",request_max_retries=0,stream_max_retries=0}}"#,
        world.model.url()
    );
    command
        .env("KEY", "dummy")
        .args(["exec", "--json", "--skip-git-repo-check"]);
    command.arg("--dangerously-bypass-approvals-and-sandbox");
    command.args([
        "-c",
        "model_provider=\"scripted\"",
        "-c",
        &provider,
        "-m",
        model,
        PROMPT,
    ]);
    world.run(command).await;
}

#[tokio::test]
async fn codex_with_patches() {
    codex("gpt-5.5").await;
}

#[tokio::test]
async fn codex_with_nothing_but_a_shell() {
    codex("a-model-that-codex-does-not-know").await;
}

#[tokio::test]
async fn codex_in_code_mode() {
    codex("gpt-6.1-sol").await;
}

#[tokio::test]
async fn claude_code() {
    let bin = install("agents", "agents/node_modules/.bin").join("claude");
    let world = World::new().await;
    let mut command = world.command(&bin);
    command
        .env("ANTHROPIC_API_KEY", "dummy")
        .env("ANTHROPIC_BASE_URL", world.model.url())
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("CLAUDE_CODE_MAX_RETRIES", "0")
        .args(["-p", "--output-format", "stream-json", "--verbose"])
        .args([
            "--permission-mode",
            "acceptEdits",
            "--allowedTools",
            "Bash",
            "--",
            PROMPT,
        ]);
    world.run(command).await;
}

#[tokio::test]
async fn gemini_cli() {
    if !full() {
        return;
    }
    let bin = install("agents-full", "agents-full/node_modules/.bin").join("gemini");
    let world = World::new().await;
    let settings =
        r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"maxAttempts":1}}"#;
    std::fs::create_dir(world.home().join(".gemini")).unwrap();
    std::fs::write(world.home().join(".gemini/settings.json"), settings).unwrap();
    let mut command = world.command(&bin);
    command
        .env("GEMINI_API_KEY", "dummy")
        .env("GOOGLE_GEMINI_BASE_URL", world.model.url())
        .env("GEMINI_CLI_NO_RELAUNCH", "true")
        .args(["-o", "stream-json", "--yolo", "--skip-trust", "-p", PROMPT]);
    world.run(command).await;
}

#[tokio::test]
async fn opencode() {
    if !full() {
        return;
    }
    let bin = install("agents-full", "agents-full/node_modules/.bin").join("opencode");
    let world = World::new().await;
    let config = serde_json::json!({
        "model": "scripted/m", "small_model": "scripted/m",
        "provider": { "scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": format!("{}/v1", world.model.url()), "apiKey": "dummy" },
            "models": { "m": { "limit": { "context": 128_000, "output": 8_000 } } },
        }},
    });
    let mut command = world.command(&bin);
    command
        .env("OPENCODE_CONFIG_CONTENT", config.to_string())
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .args(["run", "--format", "json", PROMPT]);
    world.run(command).await;
}

#[tokio::test]
async fn qwen_code() {
    if !full() {
        return;
    }
    let bin = install("agents-full", "agents-full/node_modules/.bin").join("qwen");
    let world = World::new().await;
    let mut command = world.command(&bin);
    command
        .env("OPENAI_API_KEY", "dummy")
        .env("OPENAI_BASE_URL", format!("{}/v1", world.model.url()))
        .args([
            "--auth-type",
            "openai",
            "-m",
            "m",
            "-o",
            "stream-json",
            "--yolo",
            PROMPT,
        ]);
    world.run(command).await;
}

#[tokio::test]
async fn copilot() {
    if !full() {
        return;
    }
    let bin = install("agents-full", "agents-full/node_modules/.bin").join("copilot");
    let world = World::new().await;
    let mut command = world.command(&bin);
    command
        .env(
            "COPILOT_PROVIDER_BASE_URL",
            format!("{}/v1", world.model.url()),
        )
        .env("COPILOT_PROVIDER_TYPE", "openai")
        .env("COPILOT_PROVIDER_API_KEY", "dummy")
        .env("COPILOT_PROVIDER_WIRE_API", "completions")
        .env("COPILOT_MODEL", "m")
        .env("COPILOT_OFFLINE", "true")
        .args([
            "--output-format",
            "json",
            "--allow-all-tools",
            "--allow-all-paths",
            "-p",
            PROMPT,
        ]);
    world.run(command).await;
}
