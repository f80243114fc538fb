//! The real Codex and Claude Code behind `windlass acp`, on a scripted model.

use serde_json::{Value, json};

use super::acp_client::{AcpClient, assert_no_process};
use super::real_composite::harness;
use super::real_scenarios::programs;
use super::run::Server;

/// Returns the configuration of the agent on this model.
pub(crate) fn agent(name: &str, server: &Server) -> String {
    let model = match name {
        "codex" => "model = \"gpt-5.5\"\n",
        _ => "",
    };
    format!(
        "[agents.real]\nbackend = \"{name}\"\n{model}endpoint = \"{}\"\napi_key_env = \"KEY\"\n",
        server.url()
    )
}

/// Edits a file with permission, is refused once, can change nothing in mode `ask`, and is resumed by another process.
fn edits_with_permission(name: &str) {
    let write =
        |path: &str| json!({ "answer": [{ "write_file": { "path": path, "content": "new\n" } }] });
    let say = |text: &str| json!({ "answer": [{ "text": text }], "or_more": true });
    let about = |prompt: &str, turn: Value| {
        let mut turn = turn;
        turn["when"] = json!({ "contains": prompt });
        turn
    };
    let server = Server::with_turns(json!([
        about("Write one.txt", write("one.txt")),
        about("Write two.txt", write("two.txt")),
        about("Write three.txt", write("three.txt")),
        say("So be it."),
    ]));
    let harness = harness(&agent(name, &server));
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs().display());
    let start = |args: &[&str]| {
        let args: Vec<&str> = [&["--agent", "real"], args].concat();
        AcpClient::start_with_path(&harness, &path, &args)
    };
    let exists = |file: &str| harness.project().join(file).exists();
    let mut client = start(&[]);
    let session = client.new_session(&harness.project());
    client.answer = Some("allow_once");
    let turn = client.prompt(&session, "Write one.txt");
    assert_eq!(
        turn.response["result"]["stopReason"], "end_turn",
        "{}",
        turn.response
    );
    assert!(exists("one.txt"), "{:#?}", turn.updates);
    assert!(!client.permissions.is_empty(), "{:#?}", turn.updates);
    let asked = &client.permissions[0];
    let content = asked["toolCall"]["content"].to_string();
    assert!(
        content.contains("one.txt") && content.contains(r#""newText":"new\n""#),
        "{asked:#}"
    );
    let calls = turn.of_kind("tool_call");
    let is_asked = |call: &&&Value| call["toolCallId"] == asked["toolCall"]["toolCallId"];
    assert_eq!(
        calls.iter().filter(is_asked).count(),
        1,
        "{calls:#?} {asked:#}"
    );
    client.answer = Some("reject_once");
    client.prompt(&session, "Write two.txt");
    assert!(!exists("two.txt"));
    assert_eq!(client.finish(), Some(0));
    assert_no_process(&harness);

    let mut client = start(&[]);
    client.answer = Some("allow_once");
    let load = json!({ "sessionId": session, "cwd": harness.project(), "mcpServers": [] });
    let loaded = client.call("session/load", load);
    assert!(loaded.get("result").is_some(), "{loaded}");
    assert!(format!("{:?}", client.updates).contains("Write one.txt"));
    let mode = json!({ "sessionId": session, "modeId": "ask" });
    client.call("session/set_mode", mode);
    let turn = client.prompt(&session, "Write three.txt");
    assert!(!exists("three.txt"), "{:#?}", turn.updates);
    assert_eq!(client.finish(), Some(0));
    assert_no_process(&harness);
}

#[test]
#[ignore = "full: starts the real Codex"]
fn codex_edits_with_permission() {
    edits_with_permission("codex");
}

#[test]
#[ignore = "full: starts the real Claude Code"]
fn claude_edits_with_permission() {
    edits_with_permission("claude");
}
