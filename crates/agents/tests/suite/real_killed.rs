//! P5 with a real agent: a SIGKILL of the client leaves no process running.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::harness::{Harness, KEY, Subject, programs};
use super::real_acp;

fn endless() -> Value {
    let shell = json!({ "shell": { "command": "setsid tail -f notes.txt" } });
    json!({ "turns": [{ "answer": [shell], "or_more": true }] })
}

/// Kills the client of an agent during a tool call, and asserts that no process survives.
async fn kill_leaves_no_process(agent: &'static str, transport: &'static str) {
    let subject = Subject::new(agent, transport, endless()).await;
    let config = subject.config("allow");
    assert_no_process_survives(agent, "agents", &config, &subject.harness).await;
}

/// Like [`kill_leaves_no_process`], for an ACP agent.
async fn acp_kill_leaves_no_process(agent: &'static str) {
    let subject = real_acp::Subject::new(agent, endless()).await;
    let mut config = subject.config("allow");
    config["transport"] = "acp".into();
    assert_no_process_survives(agent, real_acp::tier(agent), &config, &subject.harness).await;
}

async fn assert_no_process_survives(agent: &str, tier: &str, config: &Value, harness: &Harness) {
    let tests = std::env::current_exe().unwrap();
    let example = tests.ancestors().nth(2).unwrap().join("examples/ask");
    assert!(
        example.is_file(),
        "run `cargo build -p windlass-agents --examples` first"
    );
    let path = format!("{}:/usr/bin:/bin", programs(tier).display());
    let mut ask = Command::new(example)
        .arg(agent)
        .arg(harness.state())
        .arg(config.to_string())
        .arg("Watch it")
        .env_clear()
        .envs([("PATH", path.as_str()), ("TEST_KEY", KEY)])
        .env("HOME", harness.home())
        .current_dir(harness.work())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(ask.stdout.take().unwrap()).lines();
    let running = lines
        .map_while(Result::ok)
        .find(|line| line.contains("ToolStart"));
    assert!(running.is_some(), "no tool was started");
    assert!(!harness.processes().is_empty());
    ask.kill().unwrap();
    ask.wait().unwrap();
    assert!(harness.wait_for_exit().await, "{:?}", harness.processes());
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_real_codex_leaves_no_process() {
    kill_leaves_no_process("codex", "app-server").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_real_codex_exec_leaves_no_process() {
    kill_leaves_no_process("codex", "exec").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_real_claude_leaves_no_process() {
    kill_leaves_no_process("claude", "stream-json").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn p5_real_claude_agent_acp_by_acp_leaves_no_process() {
    acp_kill_leaves_no_process("claude-agent-acp").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn p5_real_codex_acp_by_acp_leaves_no_process() {
    acp_kill_leaves_no_process("codex-acp").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn p5_real_gemini_by_acp_leaves_no_process() {
    acp_kill_leaves_no_process("gemini").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn p5_real_opencode_by_acp_leaves_no_process() {
    acp_kill_leaves_no_process("opencode").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn p5_real_qwen_by_acp_leaves_no_process() {
    acp_kill_leaves_no_process("qwen").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn p5_real_copilot_by_acp_leaves_no_process() {
    acp_kill_leaves_no_process("copilot").await;
}
