//! The same cases on every transport of the real Codex and the real Claude Code, each against a scripted model.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_core::permission::SessionApprover;
use windlass_core::{
    AgentEvent, ErrorCode, McpServer, SessionId, SessionOptions, ToolKind, TurnLimits,
};

use super::acp::Person;
use super::shown;
use super::world::{KEY, Subject, turn};

type Who = (&'static str, &'static str);

fn text(words: &str) -> Value {
    json!({ "answer": [{ "text": words }] })
}

fn story(events: &[AgentEvent]) -> String {
    events
        .iter()
        .map(shown::event)
        .collect::<Vec<_>>()
        .join("\n")
}

fn result(events: &[AgentEvent]) -> &AgentEvent {
    let last = events.last().unwrap();
    assert!(
        matches!(last, AgentEvent::Result { .. }),
        "{}",
        story(events)
    );
    last
}

fn error(events: &[AgentEvent]) -> ErrorCode {
    match events.last().unwrap() {
        AgentEvent::Error { code, .. } => *code,
        _ => panic!("no error:\n{}", story(events)),
    }
}

fn said(events: &[AgentEvent]) -> String {
    let pieces = events.iter().filter_map(|event| match event {
        AgentEvent::Text(text) => Some(text.as_str()),
        _ => None,
    });
    pieces.collect()
}

async fn answers((agent, transport): Who) {
    let usage = json!({ "input": 100, "output": 10, "cached": 40 });
    let turns = json!({ "turns": [{ "answer": [{ "text": "Pong it is." }], "usage": usage }] });
    let subject = Subject::new(agent, transport, turns).await;
    let events = subject.ask("deny").await;
    assert_eq!(said(&events).trim(), "Pong it is.", "{}", story(&events));
    let AgentEvent::Result { text, usage, .. } = result(&events) else {
        return;
    };
    assert_eq!(text.trim(), "Pong it is.");
    let usage = usage.as_ref().unwrap();
    assert_eq!(
        (usage.input_tokens, usage.output_tokens),
        (60, 10),
        "{usage:?}"
    );
    assert_eq!(usage.cache_read_tokens, Some(40));
    assert!(
        subject.model.report().is_clean(),
        "{}",
        subject.model.report()
    );
    assert!(
        !format!("{events:?}").contains(KEY),
        "the key is in an event"
    );
}

async fn edits_a_file((agent, transport): Who) {
    let edit = json!({ "edit_file": { "path": "notes.txt", "old": "two", "new": "three" } });
    let read = json!({ "read_file": { "path": "notes.txt" } });
    let turns = json!({ "turns": [{ "answer": [read] }, { "answer": [edit] }, text("Done.")] });
    let subject = Subject::new(agent, transport, turns).await;
    let events = subject.ask("allow").await;
    result(&events);
    assert_eq!(
        subject.world.read("notes.txt"),
        "one\nthree\n",
        "{}",
        story(&events)
    );
    let tools = events
        .iter()
        .filter(|event| matches!(event, AgentEvent::ToolEnd { success: true, .. }));
    assert_eq!(tools.count(), 2, "{}", story(&events));
}

async fn is_kept_from_writing((agent, transport): Who) {
    let write = json!({ "write_file": { "path": "new.txt", "content": "no\n" } });
    let turns = json!({ "turns": [{ "answer": [write] }, text("I could not.")] });
    let subject = Subject::new(agent, transport, turns).await;
    let events = subject.ask("deny").await;
    result(&events);
    assert!(
        !subject.world.work().join("new.txt").exists(),
        "{}",
        story(&events)
    );
}

async fn obeys_a_person((agent, transport): Who) {
    for (says, allowed) in [("allow", true), ("deny", false)] {
        let write = json!({ "write_file": { "path": "new.txt", "content": "aye\n" } });
        let turns = json!({ "turns": [{ "answer": [write] }, text("So be it.")] });
        let subject = Subject::new(agent, transport, turns).await;
        let person = Arc::new(Person {
            says: Some(says),
            ..Person::default()
        });
        let options = SessionOptions {
            approver: SessionApprover(Some(person.clone())),
            ..subject.options()
        };
        let handle = subject.handle("ask");
        let mut session = handle.new_session(options).await.unwrap();
        let events = turn(&handle, &mut session, "Write it").await;
        result(&events);
        let asked = person.asked.lock().unwrap();
        assert_eq!(asked.len(), 1, "{}", story(&events));
        assert_eq!(asked[0].kind, Some(ToolKind::Write));
        assert_eq!(asked[0].paths, [PathBuf::from("new.txt")]);
        let written = subject.world.work().join("new.txt").exists();
        assert_eq!(written, allowed, "{}", story(&events));
    }
}

async fn fits_a_schema((agent, transport): Who) {
    let turns =
        json!({ "turns": [{ "answer": [{ "json": { "verdict": "pass" } }] }, text("Done.")] });
    let subject = Subject::new(agent, transport, turns).await;
    let handle = subject.handle("deny");
    let schema = json!({
        "type": "object", "properties": { "verdict": { "type": "string" } },
        "required": ["verdict"], "additionalProperties": false,
    });
    let options = SessionOptions {
        output_schema: Some(schema),
        ..subject.options()
    };
    let mut session = handle.new_session(options).await.unwrap();
    let events = turn(&handle, &mut session, "Judge it").await;
    let AgentEvent::Result { text, .. } = result(&events) else {
        return;
    };
    assert_eq!(
        serde_json::from_str::<Value>(text).unwrap(),
        json!({ "verdict": "pass" })
    );
    let left = std::fs::read_dir(subject.world.state().join("papers"));
    assert_eq!(
        left.map_or(0, Iterator::count),
        0,
        "the schema's file is still there"
    );
}

async fn reaches_an_mcp_server((agent, transport): Who) {
    let call =
        json!({ "mcp": { "server": "echo", "tool": "say_back", "arguments": { "text": "ahoy" } } });
    let heard = json!({ "when": { "contains": "echo: ahoy" }, "answer": [{ "text": "Heard." }] });
    let subject = Subject::new(
        agent,
        transport,
        json!({ "turns": [{ "answer": [call] }, heard] }),
    )
    .await;
    let handle = subject.handle("allow");
    let server = McpServer {
        name: "echo".to_owned(),
        command: "python3".to_owned(),
        args: vec![concat!(env!("CARGO_MANIFEST_DIR"), "/../gateway/tests/mcp/echo.py").to_owned()],
        env: [("SECRET".to_owned(), "canary-server".to_owned())].into(),
    };
    let options = SessionOptions {
        mcp_servers: vec![server],
        ..subject.options()
    };
    let mut session = handle.new_session(options).await.unwrap();
    let events = turn(&handle, &mut session, "Call the server").await;
    assert_eq!(said(&events).trim(), "Heard.", "{}", story(&events));
    for pid in subject.world.processes() {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains("canary-server"));
    }
}

async fn takes_a_session_up((agent, transport): Who) {
    let nth = |turn: u64| json!({ "when": { "turn": turn }, "answer": [{ "text": format!("Answer {turn}.") }] });
    let turns = json!({ "turns": [nth(1), nth(2), nth(3)] });
    let subject = Subject::new(agent, transport, turns).await;
    let handle = subject.handle("deny");
    let mut session = handle.new_session(subject.options()).await.unwrap();
    for expected in ["Answer 1.", "Answer 2."] {
        let events = turn(&handle, &mut session, "Go on").await;
        assert_eq!(said(&events).trim(), expected, "{}", story(&events));
        let AgentEvent::Result {
            usage: Some(usage), ..
        } = result(&events)
        else {
            panic!("no usage:\n{}", story(&events));
        };
        // The same for both: what a turn consumed, and not the session.
        assert_eq!((usage.input_tokens, usage.output_tokens), (100, 10));
    }
    drop(handle);
    let another = subject.handle("deny");
    another
        .load_session(&session, subject.options())
        .await
        .unwrap();
    let events = turn(&another, &mut session, "Go on").await;
    assert_eq!(said(&events).trim(), "Answer 3.", "{}", story(&events));
}

async fn does_not_know_a_session((agent, transport): Who) {
    let subject = Subject::new(agent, transport, json!({ "turns": [text("Who?")] })).await;
    let handle = subject.handle("deny");
    let mut unknown = SessionId::from("01a1dcd0-0000-4000-8000-000000000000");
    if let Err(error) = handle.load_session(&unknown, subject.options()).await {
        assert_eq!(error.code(), ErrorCode::SessionOrphaned, "{error}");
        return;
    }
    let events = turn(&handle, &mut unknown, "Go on").await;
    let last = events.last().unwrap();
    assert!(
        matches!(last, AgentEvent::SessionInvalid { .. }),
        "{}",
        story(&events)
    );
}

async fn is_refused((agent, transport): Who) {
    let refusal = json!({ "fault": { "status": { "code": 401 } }, "or_more": true });
    let subject = Subject::new(agent, transport, json!({ "turns": [refusal] })).await;
    let events = subject.ask("deny").await;
    assert_eq!(error(&events), ErrorCode::AuthFailed, "{}", story(&events));
    assert_eq!(said(&events), "", "an error is no answer");
    let retries = events
        .iter()
        .filter(|event| shown::event(event).starts_with("custom retry"));
    assert_ne!(retries.count(), 0, "{}", story(&events));
}

async fn is_asked_to_slow_down((agent, transport): Who) {
    let refusal = json!({ "fault": { "status": { "code": 429 } }, "or_more": true });
    let subject = Subject::new(agent, transport, json!({ "turns": [refusal] })).await;
    let events = subject.ask("deny").await;
    assert_eq!(error(&events), ErrorCode::RateLimited, "{}", story(&events));
    assert_eq!(said(&events), "", "an error is no answer");
}

async fn is_told_when_to_come_back((agent, transport): Who) {
    let status = json!({ "code": 429, "retry_after_secs": 1 });
    let refusal = json!({ "fault": { "status": status }, "or_more": true });
    let subject = Subject::new(agent, transport, json!({ "turns": [refusal] })).await;
    let events = subject.ask("deny").await;
    assert_eq!(error(&events), ErrorCode::RateLimited, "{}", story(&events));
    assert_eq!(said(&events), "", "an error is no answer");
    // It waits and tries again by itself, and says so.
    let retries = events
        .iter()
        .filter(|event| shown::event(event).starts_with("custom retry"));
    assert_ne!(retries.count(), 0, "{}", story(&events));
}

async fn p5_hangs_no_longer_than_allowed((agent, transport): Who) {
    let subject = Subject::new(
        agent,
        transport,
        json!({ "turns": [{ "fault": "hang", "or_more": true }] }),
    )
    .await;
    let handle = subject.handle("deny");
    let limits = TurnLimits {
        deadline: Duration::from_secs(6),
        ..handle.limits()
    };
    let handle = { handle }.with_limits(limits);
    let mut session = handle.new_session(subject.options()).await.unwrap();
    let events = turn(&handle, &mut session, "Go on").await;
    assert_eq!(error(&events), ErrorCode::Timeout, "{}", story(&events));
    drop(handle);
    assert!(
        subject.world.is_left().await,
        "{:?}",
        subject.world.processes()
    );
}

/// Long enough that only an end by force explains its absence; Claude refuses a plain `sleep`.
fn endless() -> Value {
    let shell = json!({ "shell": { "command": "tail -f notes.txt" } });
    json!({ "turns": [{ "answer": [shell] }, { "answer": [{ "text": "Stopped." }], "or_more": true }] })
}

async fn p5_is_cancelled_in_a_tool((agent, transport): Who) {
    let subject = Subject::new(agent, transport, endless()).await;
    let handle = subject.handle("allow");
    let session = handle.new_session(subject.options()).await.unwrap();
    let mut events = handle.prompt(&session, "Watch it").await.unwrap();
    let mut seen = Vec::new();
    while let Some(event) = events.recv().await {
        if matches!(event, AgentEvent::ToolStart { .. }) {
            assert!(!subject.world.processes().is_empty());
            handle.cancel(&session).await.unwrap();
        }
        seen.push(event);
    }
    assert_eq!(error(&seen), ErrorCode::Cancelled, "{}", story(&seen));
    drop(handle);
    assert!(
        subject.world.is_left().await,
        "{:?}",
        subject.world.processes()
    );
}

async fn survives_the_death_of_a_warm_process((agent, transport): Who) {
    let turns = json!({ "turns": [text("First."), { "when": { "turn": 2 }, "answer": [{ "text": "Second." }] }] });
    let subject = Subject::new(agent, transport, turns).await;
    let handle = subject.handle("deny");
    let mut session = handle.new_session(subject.options()).await.unwrap();
    result(&turn(&handle, &mut session, "Go on").await);
    let waiting = subject.world.processes();
    assert!(!waiting.is_empty(), "no process waits for the next turn");
    for pid in waiting {
        let _ = std::process::Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status();
    }
    let events = turn(&handle, &mut session, "Go on").await;
    assert_eq!(said(&events).trim(), "Second.", "{}", story(&events));
}

/// A test of each case for each way to talk to an agent. An attribute in front is given to each test.
macro_rules! on {
    ($(#[$attribute:meta])? $module:ident, $agent:literal, $transport:literal: $($case:ident),+ $(,)?) => {
        on!(@ [$(#[$attribute])?] $module, $agent, $transport: $($case),+);
    };
    (@ $attributes:tt $module:ident, $agent:literal, $transport:literal: $($case:ident),+) => {
        mod $module {
            $(on!(@ $attributes $case, ($agent, $transport));)+
        }
    };
    (@ [$(#[$attribute:meta])?] $case:ident, $who:expr) => {
        #[tokio::test]
        $(#[$attribute])?
        async fn $case() {
            super::$case($who).await;
        }
    };
}

on!(real_codex_app_server, "codex", "app-server":
    answers, obeys_a_person, reaches_an_mcp_server, edits_a_file, is_kept_from_writing, fits_a_schema, takes_a_session_up, does_not_know_a_session, is_refused,
    is_asked_to_slow_down, is_told_when_to_come_back, p5_hangs_no_longer_than_allowed, p5_is_cancelled_in_a_tool, survives_the_death_of_a_warm_process);
on!(real_codex_exec, "codex", "exec":
    answers, edits_a_file, is_kept_from_writing, fits_a_schema, takes_a_session_up, does_not_know_a_session, is_refused,
    is_asked_to_slow_down, is_told_when_to_come_back, p5_hangs_no_longer_than_allowed, p5_is_cancelled_in_a_tool);
on!(real_claude_two_way, "claude", "stream-json":
    answers, obeys_a_person, reaches_an_mcp_server, edits_a_file, is_kept_from_writing, fits_a_schema, takes_a_session_up, does_not_know_a_session, is_refused,
    is_asked_to_slow_down, is_told_when_to_come_back, p5_hangs_no_longer_than_allowed, p5_is_cancelled_in_a_tool, survives_the_death_of_a_warm_process);
on!(real_claude_print, "claude", "print":
    answers, reaches_an_mcp_server, edits_a_file, is_kept_from_writing, fits_a_schema, takes_a_session_up, does_not_know_a_session, is_refused,
    is_asked_to_slow_down, is_told_when_to_come_back, p5_hangs_no_longer_than_allowed, p5_is_cancelled_in_a_tool);
on!(#[ignore = "full: starts the real Qwen Code"]
    real_qwen, "qwen", "stream-json": edits_a_file, fits_a_schema, does_not_know_a_session,
    p5_is_cancelled_in_a_tool);
