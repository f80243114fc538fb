//! P5 with a real agent: our own SIGKILL leaves no process behind.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;

use super::world::{KEY, Subject, programs};

async fn nothing_survives_us(agent: &'static str, transport: &'static str) {
    let shell = json!({ "shell": { "command": "setsid tail -f notes.txt" } });
    let turns = json!({ "turns": [{ "answer": [shell], "or_more": true }] });
    let subject = Subject::new(agent, transport, turns).await;
    let tests = std::env::current_exe().unwrap();
    let example = tests.ancestors().nth(2).unwrap().join("examples/ask");
    assert!(
        example.is_file(),
        "run `cargo build -p windlass-agents --examples` first"
    );
    let path = format!("{}:/usr/bin:/bin", programs("agents").display());
    let mut ask = Command::new(example)
        .arg(agent)
        .arg(subject.world.state())
        .arg(subject.config("allow").to_string())
        .arg("Watch it")
        .env_clear()
        .envs([("PATH", path.as_str()), ("TEST_KEY", KEY)])
        .env("HOME", subject.world.home())
        .current_dir(subject.world.work())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(ask.stdout.take().unwrap()).lines();
    let running = lines
        .map_while(Result::ok)
        .find(|line| line.contains("ToolStart"));
    assert!(running.is_some(), "no tool was begun");
    assert!(!subject.world.processes().is_empty());
    ask.kill().unwrap();
    ask.wait().unwrap();
    assert!(
        subject.world.is_left().await,
        "{:?}",
        subject.world.processes()
    );
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
