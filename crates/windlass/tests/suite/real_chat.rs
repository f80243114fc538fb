//! The real Codex and Claude Code in `windlass chat`, on a terminal and on a scripted model.

use serde_json::{Value, json};

use super::acp_client::assert_no_process;
use super::real_acp_agents::agent;
use super::real_composite::harness;
use super::real_scenarios::programs;
use super::run::Server;
use super::tmux::{Tmux, path_with};

/// Streams an answer, edits with permission, is refused once, is stopped, undone and resumed.
fn conversation(name: &str, columns: u32) {
    let server = Server::with_turns(turns());
    let harness = harness(&agent(name, &server));
    let path = path_with(&programs());
    let args = ["--agent", "real"];
    let tmux = Tmux::chat(&harness, &path, columns, &args);
    let exists = |file: &str| harness.project().join(file).exists();
    tmux.wait_for_prompt("real");
    tmux.line("Explain it");
    tmux.wait_for("That is all.", 1);
    tmux.wait_for_prompt("real");
    tmux.line("Write one.txt");
    tmux.wait_for("requests permission", 1);
    tmux.wait_for("›", 3);
    assert!(!exists("one.txt"));
    tmux.line("y");
    tmux.wait_for("(/diff last, /undo)", 1);
    tmux.wait_for_prompt("real");
    assert!(exists("one.txt"));
    tmux.line("Write two.txt");
    tmux.wait_for("requests permission", 2);
    tmux.wait_for("›", 5);
    tmux.line("n");
    tmux.wait_for_prompt("real");
    assert!(!exists("two.txt"));
    tmux.line("Wait");
    tmux.wait_for("I am still at", 1);
    tmux.key("C-c");
    tmux.wait_for("stopped", 1);
    tmux.wait_for_prompt("real");
    tmux.line("/undo");
    tmux.wait_for("restored 1 file", 1);
    assert!(!exists("one.txt"));
    tmux.wait_for_prompt("real");
    tmux.key("C-d");
    tmux.wait_for("resume with", 1);
    tmux.check(&format!("{name}-{columns}"));
    drop(tmux);
    assert_no_process(&harness);

    let tmux = Tmux::chat(&harness, &path, columns, &["--last"]);
    tmux.wait_for_prompt("real");
    tmux.line("Recall it");
    tmux.wait_for("I remember it.", 1);
    tmux.wait_for_prompt("real");
    assert!(
        !tmux.screen().contains("could not resume"),
        "{}",
        tmux.screen()
    );
    tmux.key("C-d");
    tmux.wait_for("resume with", 1);
    tmux.check(&format!("{name}-resumed-{columns}"));
}

/// The turns of the scripted model.
fn turns() -> Value {
    let write = |path: &str| {
        json!({
            "when": { "contains": format!("Write {path}") },
            "answer": [{ "write_file": { "path": path, "content": "one\ntwo\n" } }],
        })
    };
    json!([
        {
            "when": { "contains": "Explain" },
            "delay_ms": 5,
            "answer": [{ "text": "# Greeting\n\nThe script **greets** by name, as `greet.sh Ann` shows, and this sentence is wrapped on narrow terminals:\n\n- one\n- two\n\n```sh\nsh greet.sh Ann\n```\nThat is all." }],
        },
        write("one.txt"),
        write("two.txt"),
        {
            "when": { "contains": "Wait" },
            "answer": [{ "text": "I am still at work " }],
            "fault": "hang_mid_stream",
        },
        { "when": { "contains": "Recall" }, "answer": [{ "text": "I remember it." }] },
        { "or_more": true, "answer": [{ "text": "So be it." }] },
    ])
}

#[test]
#[ignore = "full: starts the real Codex"]
fn codex_chats_in_60_columns() {
    conversation("codex", 60);
}

#[test]
#[ignore = "full: starts the real Codex"]
fn codex_chats_in_120_columns() {
    conversation("codex", 120);
}

#[test]
#[ignore = "full: starts the real Claude Code"]
fn claude_chats_in_60_columns() {
    conversation("claude", 60);
}

#[test]
#[ignore = "full: starts the real Claude Code"]
fn claude_chats_in_120_columns() {
    conversation("claude", 120);
}
