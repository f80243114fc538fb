//! The same cases on every transport of the real Codex and Claude Code, each with a scripted model.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_core::permission::SessionApprover;
use windlass_core::{
    AgentEvent, ErrorCode, McpServer, SessionId, SessionOptions, ToolKind, TurnLimits,
};

use super::acp::TestApprover;
use super::harness::{KEY, Subject, mcp_scripts, turn};
use super::render;

/// The name of an agent and its transport.
type AgentTransport = (&'static str, &'static str);

/// Returns a scripted turn with this text.
fn text_turn(text: &str) -> Value {
    json!({ "answer": [{ "text": text }] })
}

fn render_all(events: &[AgentEvent]) -> String {
    events
        .iter()
        .map(render::event)
        .collect::<Vec<_>>()
        .join("\n")
}

fn result(events: &[AgentEvent]) -> &AgentEvent {
    let last = events.last().unwrap();
    assert!(
        matches!(last, AgentEvent::Result { .. }),
        "{}",
        render_all(events)
    );
    last
}

fn error(events: &[AgentEvent]) -> ErrorCode {
    match events.last().unwrap() {
        AgentEvent::Error { code, .. } => *code,
        _ => panic!("no error:\n{}", render_all(events)),
    }
}

fn streamed_text(events: &[AgentEvent]) -> String {
    let chunks = events.iter().filter_map(|event| match event {
        AgentEvent::Text(text) => Some(text.as_str()),
        _ => None,
    });
    chunks.collect()
}

async fn answers_prompt((agent, transport): AgentTransport) {
    let usage = json!({ "input": 100, "output": 10, "cached": 40 });
    let turns = json!({ "turns": [{ "answer": [{ "text": "Pong it is." }], "usage": usage }] });
    let subject = Subject::new(agent, transport, turns).await;
    let events = subject.ask("deny").await;
    assert_eq!(
        streamed_text(&events).trim(),
        "Pong it is.",
        "{}",
        render_all(&events)
    );
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

async fn edits_file((agent, transport): AgentTransport) {
    let edit = json!({ "edit_file": { "path": "notes.txt", "old": "two", "new": "three" } });
    let read = json!({ "read_file": { "path": "notes.txt" } });
    let turns =
        json!({ "turns": [{ "answer": [read] }, { "answer": [edit] }, text_turn("Done.")] });
    let subject = Subject::new(agent, transport, turns).await;
    let events = subject.ask("allow").await;
    result(&events);
    assert_eq!(
        subject.harness.read("notes.txt"),
        "one\nthree\n",
        "{}",
        render_all(&events)
    );
    let tools = events
        .iter()
        .filter(|event| matches!(event, AgentEvent::ToolEnd { success: true, .. }));
    assert_eq!(tools.count(), 2, "{}", render_all(&events));
}

async fn denied_write_changes_nothing((agent, transport): AgentTransport) {
    let write = json!({ "write_file": { "path": "new.txt", "content": "no\n" } });
    let turns = json!({ "turns": [{ "answer": [write] }, text_turn("I could not.")] });
    let subject = Subject::new(agent, transport, turns).await;
    let events = subject.ask("deny").await;
    result(&events);
    assert!(
        !subject.harness.work().join("new.txt").exists(),
        "{}",
        render_all(&events)
    );
}

async fn approver_decision_is_applied((agent, transport): AgentTransport) {
    for (choice, allowed) in [("allow", true), ("deny", false)] {
        let write = json!({ "write_file": { "path": "new.txt", "content": "aye\n" } });
        let turns = json!({ "turns": [{ "answer": [write] }, text_turn("So be it.")] });
        let subject = Subject::new(agent, transport, turns).await;
        let approver = Arc::new(TestApprover {
            choice: Some(choice),
            ..TestApprover::default()
        });
        let options = SessionOptions {
            approver: SessionApprover(Some(approver.clone())),
            ..subject.options()
        };
        let handle = subject.handle("ask");
        let mut session = handle.new_session(options).await.unwrap();
        let events = turn(&handle, &mut session, "Write it").await;
        result(&events);
        let recorded = approver.recorded.lock().unwrap();
        assert_eq!(recorded.len(), 1, "{}", render_all(&events));
        assert_eq!(recorded[0].kind, Some(ToolKind::Write));
        assert_eq!(recorded[0].paths, [PathBuf::from("new.txt")]);
        let written = subject.harness.work().join("new.txt").exists();
        assert_eq!(written, allowed, "{}", render_all(&events));
    }
}

async fn answer_matches_schema((agent, transport): AgentTransport) {
    let turns =
        json!({ "turns": [{ "answer": [{ "json": { "verdict": "pass" } }] }, text_turn("Done.")] });
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
    let left = std::fs::read_dir(subject.harness.state().join("tmp"));
    assert_eq!(
        left.map_or(0, Iterator::count),
        0,
        "the schema file still exists"
    );
}

async fn calls_mcp_server((agent, transport): AgentTransport) {
    let call =
        json!({ "mcp": { "server": "echo", "tool": "say_back", "arguments": { "text": "ahoy" } } });
    let received =
        json!({ "when": { "contains": "echo: ahoy" }, "answer": [{ "text": "Received." }] });
    let subject = Subject::new(
        agent,
        transport,
        json!({ "turns": [{ "answer": [call] }, received] }),
    )
    .await;
    let handle = subject.handle("allow");
    let server = McpServer {
        name: "echo".to_owned(),
        command: "python3".to_owned(),
        args: vec![mcp_scripts().join("echo.py").display().to_string()],
        env: [("SECRET".to_owned(), "canary-server".to_owned())].into(),
        network: None,
    };
    let options = SessionOptions {
        mcp_servers: vec![server],
        ..subject.options()
    };
    let mut session = handle.new_session(options).await.unwrap();
    let events = turn(&handle, &mut session, "Call the server").await;
    assert_eq!(
        streamed_text(&events).trim(),
        "Received.",
        "{}",
        render_all(&events)
    );
    for pid in subject.harness.processes() {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains("canary-server"));
    }
}

async fn resumes_session((agent, transport): AgentTransport) {
    let nth = |turn: u64| json!({ "when": { "turn": turn }, "answer": [{ "text": format!("Answer {turn}.") }] });
    let turns = json!({ "turns": [nth(1), nth(2), nth(3)] });
    let subject = Subject::new(agent, transport, turns).await;
    let handle = subject.handle("deny");
    let mut session = handle.new_session(subject.options()).await.unwrap();
    for expected in ["Answer 1.", "Answer 2."] {
        let events = turn(&handle, &mut session, "Go on").await;
        assert_eq!(
            streamed_text(&events).trim(),
            expected,
            "{}",
            render_all(&events)
        );
        let AgentEvent::Result {
            usage: Some(usage), ..
        } = result(&events)
        else {
            panic!("no usage:\n{}", render_all(&events));
        };
        // The usage of the turn, not of the session.
        assert_eq!((usage.input_tokens, usage.output_tokens), (100, 10));
    }
    drop(handle);
    let another = subject.handle("deny");
    another
        .load_session(&session, subject.options())
        .await
        .unwrap();
    let events = turn(&another, &mut session, "Go on").await;
    assert_eq!(
        streamed_text(&events).trim(),
        "Answer 3.",
        "{}",
        render_all(&events)
    );
}

async fn unknown_session_is_rejected((agent, transport): AgentTransport) {
    let subject = Subject::new(
        agent,
        transport,
        json!({ "turns": [text_turn("AgentTransport?")] }),
    )
    .await;
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
        render_all(&events)
    );
}

async fn status_401_is_auth_failure((agent, transport): AgentTransport) {
    let rejection = json!({ "fault": { "status": { "code": 401 } }, "or_more": true });
    let subject = Subject::new(agent, transport, json!({ "turns": [rejection] })).await;
    let events = subject.ask("deny").await;
    assert_eq!(
        error(&events),
        ErrorCode::AuthFailed,
        "{}",
        render_all(&events)
    );
    assert_eq!(streamed_text(&events), "", "an error is not an answer");
    let retries = events
        .iter()
        .filter(|event| render::event(event).starts_with("custom retry"));
    assert_ne!(retries.count(), 0, "{}", render_all(&events));
}

async fn status_429_is_rate_limit((agent, transport): AgentTransport) {
    let rejection = json!({ "fault": { "status": { "code": 429 } }, "or_more": true });
    let subject = Subject::new(agent, transport, json!({ "turns": [rejection] })).await;
    let events = subject.ask("deny").await;
    assert_eq!(
        error(&events),
        ErrorCode::RateLimited,
        "{}",
        render_all(&events)
    );
    assert_eq!(streamed_text(&events), "", "an error is not an answer");
}

async fn status_429_with_retry_after_is_retried((agent, transport): AgentTransport) {
    let status = json!({ "code": 429, "retry_after_secs": 1 });
    let rejection = json!({ "fault": { "status": status }, "or_more": true });
    let subject = Subject::new(agent, transport, json!({ "turns": [rejection] })).await;
    let events = subject.ask("deny").await;
    assert_eq!(
        error(&events),
        ErrorCode::RateLimited,
        "{}",
        render_all(&events)
    );
    assert_eq!(streamed_text(&events), "", "an error is not an answer");
    // The agent waits and retries on its own, and reports it.
    let retries = events
        .iter()
        .filter(|event| render::event(event).starts_with("custom retry"));
    assert_ne!(retries.count(), 0, "{}", render_all(&events));
}

async fn p5_hanging_model_hits_the_deadline((agent, transport): AgentTransport) {
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
    assert_eq!(
        error(&events),
        ErrorCode::Timeout,
        "{}",
        render_all(&events)
    );
    drop(handle);
    assert!(
        subject.harness.wait_for_exit().await,
        "{:?}",
        subject.harness.processes()
    );
}

/// A script whose tool call never ends, so that only a kill ends it. Claude rejects a plain `sleep`.
fn endless() -> Value {
    let shell = json!({ "shell": { "command": "tail -f notes.txt" } });
    json!({ "turns": [{ "answer": [shell] }, { "answer": [{ "text": "Stopped." }], "or_more": true }] })
}

async fn p5_cancel_kills_a_running_tool((agent, transport): AgentTransport) {
    let subject = Subject::new(agent, transport, endless()).await;
    let handle = subject.handle("allow");
    let session = handle.new_session(subject.options()).await.unwrap();
    let mut events = handle.prompt(&session, "Watch it").await.unwrap();
    let mut seen = Vec::new();
    while let Some(event) = events.recv().await {
        if matches!(event, AgentEvent::ToolStart { .. }) {
            assert!(!subject.harness.processes().is_empty());
            handle.cancel(&session).await.unwrap();
        }
        seen.push(event);
    }
    assert_eq!(error(&seen), ErrorCode::Cancelled, "{}", render_all(&seen));
    drop(handle);
    assert!(
        subject.harness.wait_for_exit().await,
        "{:?}",
        subject.harness.processes()
    );
}

async fn killed_idle_process_is_restarted((agent, transport): AgentTransport) {
    let turns = json!({ "turns": [text_turn("First."), { "when": { "turn": 2 }, "answer": [{ "text": "Second." }] }] });
    let subject = Subject::new(agent, transport, turns).await;
    let handle = subject.handle("deny");
    let mut session = handle.new_session(subject.options()).await.unwrap();
    result(&turn(&handle, &mut session, "Go on").await);
    let waiting = subject.harness.processes();
    assert!(!waiting.is_empty(), "no idle process");
    for pid in waiting {
        let _ = std::process::Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status();
    }
    let events = turn(&handle, &mut session, "Go on").await;
    assert_eq!(
        streamed_text(&events).trim(),
        "Second.",
        "{}",
        render_all(&events)
    );
}

/// Defines a test of each case for one transport of an agent. An attribute in front is added to each test.
macro_rules! on {
    ($(#[$attribute:meta])? $module:ident, $agent:literal, $transport:literal: $($case:ident),+ $(,)?) => {
        on!(@ [$(#[$attribute])?] $module, $agent, $transport: $($case),+);
    };
    (@ $attributes:tt $module:ident, $agent:literal, $transport:literal: $($case:ident),+) => {
        mod $module {
            $(on!(@ $attributes $case, ($agent, $transport));)+
        }
    };
    (@ [$(#[$attribute:meta])?] $case:ident, $subject:expr) => {
        #[tokio::test]
        $(#[$attribute])?
        async fn $case() {
            super::$case($subject).await;
        }
    };
}

on!(real_codex_app_server, "codex", "app-server":
    answers_prompt, approver_decision_is_applied, calls_mcp_server, edits_file, denied_write_changes_nothing,
    answer_matches_schema, resumes_session, unknown_session_is_rejected, status_401_is_auth_failure,
    status_429_is_rate_limit, status_429_with_retry_after_is_retried, p5_hanging_model_hits_the_deadline,
    p5_cancel_kills_a_running_tool, killed_idle_process_is_restarted);
on!(real_codex_exec, "codex", "exec":
    answers_prompt, edits_file, denied_write_changes_nothing, answer_matches_schema, resumes_session,
    unknown_session_is_rejected, status_401_is_auth_failure, status_429_is_rate_limit,
    status_429_with_retry_after_is_retried, p5_hanging_model_hits_the_deadline,
    p5_cancel_kills_a_running_tool);
on!(real_claude_two_way, "claude", "stream-json":
    answers_prompt, approver_decision_is_applied, calls_mcp_server, edits_file, denied_write_changes_nothing,
    answer_matches_schema, resumes_session, unknown_session_is_rejected, status_401_is_auth_failure,
    status_429_is_rate_limit, status_429_with_retry_after_is_retried, p5_hanging_model_hits_the_deadline,
    p5_cancel_kills_a_running_tool, killed_idle_process_is_restarted);
on!(real_claude_print, "claude", "print":
    answers_prompt, calls_mcp_server, edits_file, denied_write_changes_nothing, answer_matches_schema,
    resumes_session, unknown_session_is_rejected, status_401_is_auth_failure, status_429_is_rate_limit,
    status_429_with_retry_after_is_retried, p5_hanging_model_hits_the_deadline,
    p5_cancel_kills_a_running_tool);
on!(#[ignore = "full: starts the real Qwen Code"]
    real_qwen, "qwen", "stream-json":
    edits_file, answer_matches_schema, unknown_session_is_rejected, p5_cancel_kills_a_running_tool);
