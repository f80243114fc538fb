//! Real agents, unmodified, with the same script: each reads, edits, writes and runs commands with its own
//! tools.

use tokio::process::Command;

use super::harness::Harness;

const PROMPT: &str = "Change the notes as agreed";

async fn harness() -> Harness {
    Harness::new(
        Harness::script("edit.json"),
        &[("notes.txt", "one\ntwo\nthree\n")],
    )
    .await
}

/// Runs an agent and checks that it did exactly what the script defines.
async fn check_run(harness: Harness, command: Command) {
    let run = harness.run(command).await;
    let details = &run.details;
    let read = |name: &str| {
        let text = std::fs::read_to_string(harness.work().join(name));
        text.unwrap_or_else(|error| panic!("{name}: {error}\n{details}"))
    };
    assert_eq!(
        read("notes.txt"),
        "one\n2 (it's \"two\")\nthree\n",
        "{details}"
    );
    assert_eq!(
        read("deep/er/new.txt"),
        "first\n\nthird, with 'quotes' and $HOME\n",
        "{details}"
    );
    assert_eq!(
        read("both.txt"),
        format!("{}{}", read("notes.txt"), read("deep/er/new.txt"))
    );
    assert!(run.stdout.contains("All done."), "{details}");
    assert!(run.report.is_clean(), "{details}");
    assert_eq!(run.report.turns, 5, "{details}");
}

async fn codex(model: &str) {
    let harness = harness().await;
    let mut command = harness.codex(model);
    command.arg(PROMPT);
    check_run(harness, command).await;
}

#[tokio::test]
async fn codex_with_patches() {
    codex("gpt-5.5").await;
}

#[tokio::test]
async fn codex_with_only_a_shell() {
    codex("a-model-that-codex-does-not-know").await;
}

#[tokio::test]
async fn codex_in_code_mode() {
    codex("gpt-6.1-sol").await;
}

#[tokio::test]
async fn claude_code() {
    let harness = harness().await;
    let mut command = harness.claude();
    command.args([
        "--permission-mode",
        "acceptEdits",
        "--allowedTools",
        "Bash",
        "--",
        PROMPT,
    ]);
    check_run(harness, command).await;
}

#[tokio::test]
#[ignore = "full: starts the real Gemini CLI"]
async fn gemini_cli() {
    let harness = harness().await;
    let settings =
        r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"maxAttempts":1}}"#;
    std::fs::create_dir(harness.home().join(".gemini")).unwrap();
    std::fs::write(harness.home().join(".gemini/settings.json"), settings).unwrap();
    let mut command = harness.command("agents-full", "gemini");
    command
        .env("GEMINI_API_KEY", "dummy")
        .env("GOOGLE_GEMINI_BASE_URL", harness.model.url())
        .env("GEMINI_CLI_NO_RELAUNCH", "true")
        .args(["-o", "stream-json", "--yolo", "--skip-trust", "-p", PROMPT]);
    check_run(harness, command).await;
}

#[tokio::test]
#[ignore = "full: starts the real OpenCode"]
async fn opencode() {
    let harness = harness().await;
    let config = serde_json::json!({
        "model": "scripted/m", "small_model": "scripted/m",
        "provider": { "scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": format!("{}/v1", harness.model.url()), "apiKey": "dummy" },
            "models": { "m": { "limit": { "context": 128_000, "output": 8_000 } } },
        }},
    });
    let mut command = harness.command("agents-full", "opencode");
    command
        .env("OPENCODE_CONFIG_CONTENT", config.to_string())
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .args(["run", "--format", "json", PROMPT]);
    check_run(harness, command).await;
}

#[tokio::test]
#[ignore = "full: starts the real Qwen Code"]
async fn qwen_code() {
    let harness = harness().await;
    let mut command = harness.command("agents-full", "qwen");
    command
        .env("OPENAI_API_KEY", "dummy")
        .env("OPENAI_BASE_URL", format!("{}/v1", harness.model.url()))
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
    check_run(harness, command).await;
}

#[tokio::test]
#[ignore = "full: starts the real Copilot CLI"]
async fn copilot() {
    let harness = harness().await;
    let mut command = harness.command("agents-full", "copilot");
    command
        .env(
            "COPILOT_PROVIDER_BASE_URL",
            format!("{}/v1", harness.model.url()),
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
    check_run(harness, command).await;
}
