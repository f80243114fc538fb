//! P5 with a real agent: our own SIGKILL leaves no process behind.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::real_acp;
use super::world::{KEY, Subject, World, programs};

fn endless() -> Value {
    let shell = json!({ "shell": { "command": "setsid tail -f notes.txt" } });
    json!({ "turns": [{ "answer": [shell], "or_more": true }] })
}

async fn nothing_survives_us(agent: &'static str, transport: &'static str) {
    let subject = Subject::new(agent, transport, endless()).await;
    let config = subject.config("allow");
    nothing_survives(agent, "agents", &config, &subject.world).await;
}

/// The same for an agent that speaks ACP.
async fn nothing_survives_us_by_acp(agent: &'static str) {
    let subject = real_acp::Subject::new(agent, endless()).await;
    let mut config = subject.config("allow");
    config["transport"] = "acp".into();
    nothing_survives(agent, real_acp::tier(agent), &config, &subject.world).await;
}

async fn nothing_survives(agent: &str, tier: &str, config: &Value, world: &World) {
    let tests = std::env::current_exe().unwrap();
    let example = tests.ancestors().nth(2).unwrap().join("examples/ask");
    assert!(
        example.is_file(),
        "run `cargo build -p windlass-agents --examples` first"
    );
    let path = format!("{}:/usr/bin:/bin", programs(tier).display());
    let mut ask = Command::new(example)
        .arg(agent)
        .arg(world.state())
        .arg(config.to_string())
        .arg("Watch it")
        .env_clear()
        .envs([("PATH", path.as_str()), ("TEST_KEY", KEY)])
        .env("HOME", world.home())
        .current_dir(world.work())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(ask.stdout.take().unwrap()).lines();
    let running = lines
        .map_while(Result::ok)
        .find(|line| line.contains("ToolStart"));
    assert!(running.is_some(), "no tool was begun");
    assert!(!world.processes().is_empty());
    ask.kill().unwrap();
    ask.wait().unwrap();
    assert!(world.is_left().await, "{:?}", world.processes());
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_real_codex_leaves_nothing_behind() {
    nothing_survives_us("codex", "app-server").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_real_codex_exec_leaves_nothing_behind() {
    nothing_survives_us("codex", "exec").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_real_claude_leaves_nothing_behind() {
    nothing_survives_us("claude", "stream-json").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn p5_real_claude_agent_acp_by_acp_leaves_nothing_behind() {
    nothing_survives_us_by_acp("claude-agent-acp").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn p5_real_codex_acp_by_acp_leaves_nothing_behind() {
    nothing_survives_us_by_acp("codex-acp").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn p5_real_gemini_by_acp_leaves_nothing_behind() {
    nothing_survives_us_by_acp("gemini").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn p5_real_opencode_by_acp_leaves_nothing_behind() {
    nothing_survives_us_by_acp("opencode").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn p5_real_qwen_by_acp_leaves_nothing_behind() {
    nothing_survives_us_by_acp("qwen").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn p5_real_copilot_by_acp_leaves_nothing_behind() {
    nothing_survives_us_by_acp("copilot").await;
}
