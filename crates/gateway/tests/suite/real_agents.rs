//! Real agents, unmodified, on one and the same script: each reads, edits, writes and runs with its own tools.

use tokio::process::Command;

use super::world::World;

const PROMPT: &str = "Change the notes as agreed";

async fn world() -> World {
    World::new(
        World::script("edit.json"),
        &[("notes.txt", "one\ntwo\nthree\n")],
    )
    .await
}

/// Runs an agent and checks that it did all that the script says, and nothing else.
async fn works(world: World, command: Command) {
    let ended = world.run(command).await;
    let story = &ended.story;
    let read = |name: &str| {
        let text = std::fs::read_to_string(world.work().join(name));
        text.unwrap_or_else(|error| panic!("{name}: {error}\n{story}"))
    };
    assert_eq!(
        read("notes.txt"),
        "one\n2 (it's \"two\")\nthree\n",
        "{story}"
    );
    assert_eq!(
        read("deep/er/new.txt"),
        "first\n\nthird, with 'quotes' and $HOME\n",
        "{story}"
    );
    assert_eq!(
        read("both.txt"),
        format!("{}{}", read("notes.txt"), read("deep/er/new.txt"))
    );
    assert!(ended.stdout.contains("All done."), "{story}");
    assert!(ended.report.is_clean(), "{story}");
    assert_eq!(ended.report.turns, 5, "{story}");
}

async fn codex(model: &str) {
    let world = world().await;
    let mut command = world.codex(model);
    command.arg(PROMPT);
    works(world, command).await;
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
    let world = world().await;
    let mut command = world.claude();
    command.args([
        "--permission-mode",
        "acceptEdits",
        "--allowedTools",
        "Bash",
        "--",
        PROMPT,
    ]);
    works(world, command).await;
}

#[tokio::test]
#[ignore = "full: starts the real Gemini CLI"]
async fn gemini_cli() {
    let world = world().await;
    let settings =
        r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"maxAttempts":1}}"#;
    std::fs::create_dir(world.home().join(".gemini")).unwrap();
    std::fs::write(world.home().join(".gemini/settings.json"), settings).unwrap();
    let mut command = world.command("agents-full", "gemini");
    command
        .env("GEMINI_API_KEY", "dummy")
        .env("GOOGLE_GEMINI_BASE_URL", world.model.url())
        .env("GEMINI_CLI_NO_RELAUNCH", "true")
        .args(["-o", "stream-json", "--yolo", "--skip-trust", "-p", PROMPT]);
    works(world, command).await;
}

#[tokio::test]
#[ignore = "full: starts the real OpenCode"]
async fn opencode() {
    let world = world().await;
    let config = serde_json::json!({
        "model": "scripted/m", "small_model": "scripted/m",
        "provider": { "scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": format!("{}/v1", world.model.url()), "apiKey": "dummy" },
            "models": { "m": { "limit": { "context": 128_000, "output": 8_000 } } },
        }},
    });
    let mut command = world.command("agents-full", "opencode");
    command
        .env("OPENCODE_CONFIG_CONTENT", config.to_string())
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .args(["run", "--format", "json", PROMPT]);
    works(world, command).await;
}

#[tokio::test]
#[ignore = "full: starts the real Qwen Code"]
async fn qwen_code() {
    let world = world().await;
    let mut command = world.command("agents-full", "qwen");
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
    works(world, command).await;
}

#[tokio::test]
#[ignore = "full: starts the real Copilot CLI"]
async fn copilot() {
    let world = world().await;
    let mut command = world.command("agents-full", "copilot");
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
    works(world, command).await;
}
