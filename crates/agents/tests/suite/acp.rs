//! ACP with a conforming peer and with misbehaving peers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use windlass_agents::{ProgramSettings, acp};
use windlass_core::permission::SessionApprover;
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Approver, Error, ErrorCode, McpServer,
    PermissionRequest, SessionId, SessionOptions, Timestamp, TurnLimits,
};
use windlass_testkit::FakeClock;

use super::harness::{Harness, turn};
use super::render;

/// Returns the directory of the `acp-peer` program.
pub(crate) fn bin_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peer")
}

fn config(behavior: &str, extra: Value) -> Value {
    let mut config = json!({ "command": ["acp-peer", behavior], "writable": ["~/.peer"] });
    for (key, value) in extra.as_object().into_iter().flatten() {
        config[key] = value.clone();
    }
    config
}

async fn agent(harness: &Harness, behavior: &str, extra: Value) -> AgentHandle {
    let context = harness.context(&[bin_dir()]).await;
    acp::factory(None, context)(&config(behavior, extra)).unwrap()
}

fn options(harness: &Harness) -> SessionOptions {
    SessionOptions::in_dir(harness.work())
}

/// Runs one turn in a new session and renders its events.
async fn ask(harness: &Harness, behavior: &str, extra: Value, prompt: &str) -> Vec<String> {
    let agent = agent(harness, behavior, extra).await;
    let mut session = agent.new_session(options(harness)).await.unwrap();
    let events = turn(&agent, &mut session, prompt).await;
    events.iter().map(render::event).collect()
}

async fn session_error(harness: &Harness, behavior: &str, extra: Value) -> Error {
    let agent = agent(harness, behavior, extra).await;
    agent.new_session(options(harness)).await.unwrap_err()
}

fn last(events: &[String]) -> &str {
    events.last().unwrap()
}

#[tokio::test]
async fn two_turns_share_one_process() {
    let harness = Harness::new();
    let agent = agent(&harness, "plain", json!({})).await;
    let mut session = agent.new_session(options(&harness)).await.unwrap();
    for number in 1..3 {
        let events = turn(&agent, &mut session, "ping").await;
        let shown: Vec<String> = events.iter().map(render::event).collect();
        assert_eq!(shown[0], format!("text \"Pong {number}.\""));
        assert!(last(&shown).starts_with("RESULT"), "{shown:?}");
    }
    assert!(agent.capabilities().load_session);
    drop(agent);
    assert!(harness.wait_for_exit().await, "{:?}", harness.processes());
}

#[tokio::test]
async fn idle_process_ends_and_session_continues() {
    let harness = Harness::new();
    let clock = Arc::new(FakeClock::at(Timestamp(0)));
    let context = harness.context(&[bin_dir()]).await;
    let context = context.with_clock(clock.clone());
    let agent = acp::factory(None, context)(&config("plain", json!({}))).unwrap();
    let mut session = agent.new_session(options(&harness)).await.unwrap();
    turn(&agent, &mut session, "ping").await;
    clock.advance(Duration::from_secs(59));
    turn(&agent, &mut session, "ping").await;
    // The idle timeout of the first turn has passed, that of the second has not.
    clock.advance(Duration::from_secs(1));
    assert!(!harness.processes().is_empty());
    clock.advance(Duration::from_secs(60));
    assert!(harness.wait_for_exit().await, "{:?}", harness.processes());
    let events = turn(&agent, &mut session, "ping").await;
    let shown: Vec<String> = events.iter().map(render::event).collect();
    assert!(last(&shown).starts_with("RESULT"), "{shown:?}");
}

#[tokio::test]
async fn sessions_share_a_process_without_mixing_events() {
    let harness = Harness::new();
    let agent = agent(&harness, "plain", json!({})).await;
    let mut one = agent.new_session(options(&harness)).await.unwrap();
    let mut two = agent.new_session(options(&harness)).await.unwrap();
    let (first, second) = tokio::join!(async { turn(&agent, &mut one, "ping").await }, async {
        turn(&agent, &mut two, "ping").await
    },);
    for events in [first, second] {
        let texts = events
            .iter()
            .filter(|event| matches!(event, AgentEvent::Text(_)));
        assert_eq!(texts.count(), 1, "{events:?}");
    }
}

#[tokio::test]
async fn p12_invalid_messages_are_ignored_and_reported() {
    let harness = Harness::new();
    let events = ask(&harness, "misbehaves", json!({}), "ping").await;
    let all = events.join("\n");
    assert!(last(&events).starts_with("RESULT \"Sorry.\""), "{all}");
    assert!(!all.contains("not for you"), "{all}");
    for part in ["Loading plugins", "brand_new_update", "end ghost", "mood"] {
        assert!(all.contains(part), "{part} is not in\n{all}");
    }
}

#[tokio::test]
async fn other_protocol_versions_are_rejected() {
    let harness = Harness::new();
    let error = session_error(&harness, "version-999", json!({}))
        .await
        .to_string();
    assert!(error.contains("version"), "{error}");
    assert!(harness.wait_for_exit().await);
}

#[tokio::test]
async fn login_error_lists_auth_methods() {
    let harness = Harness::new();
    let error = session_error(&harness, "needs-login", json!({})).await;
    assert_eq!(error.code(), ErrorCode::AuthFailed);
    let message = error.to_string();
    assert!(
        message.contains("Log in on the web (web), A key (key)"),
        "{message}"
    );
}

#[tokio::test]
async fn p16_client_requests_are_rejected_as_unknown_methods() {
    let harness = Harness::new();
    let events = ask(&harness, "wants-everything", json!({}), "ping").await;
    assert!(
        last(&events).starts_with("RESULT \"[-32601]\""),
        "{events:?}"
    );
}

#[tokio::test]
async fn p5_agent_crash_ends_the_turn_once() {
    let harness = Harness::new();
    let events = ask(&harness, "crashes", json!({}), "ping").await;
    assert!(
        last(&events).starts_with("ERROR SessionOrphaned"),
        "{events:?}"
    );
    assert!(last(&events).contains("out of rope"), "{events:?}");
    let events = ask(&harness, "crashes-mid-message", json!({}), "ping").await;
    assert!(
        last(&events).starts_with("ERROR SessionOrphaned"),
        "{events:?}"
    );
    let ends = |event: &&String| event.starts_with("ERROR") || event.starts_with("RESULT");
    assert_eq!(events.iter().filter(ends).count(), 1);
    assert!(harness.wait_for_exit().await, "{:?}", harness.processes());
}

#[tokio::test]
async fn p12_overlong_line_ends_the_turn() {
    let harness = Harness::new();
    let events = ask(&harness, "over-long", json!({}), "ping").await;
    assert!(last(&events).starts_with("ERROR OutputLimit"), "{events:?}");
    assert!(harness.wait_for_exit().await, "{:?}", harness.processes());
}

#[tokio::test]
async fn p12_flood_ends_at_the_turn_limit() {
    let harness = Harness::new();
    let agent = agent(&harness, "floods", json!({})).await;
    let limits = TurnLimits {
        turn_bytes: 1 << 20,
        ..agent.limits()
    };
    let agent = agent.with_limits(limits);
    let mut session = agent.new_session(options(&harness)).await.unwrap();
    let events = turn(&agent, &mut session, "ping").await;
    let shown = render::event(events.last().unwrap());
    assert!(shown.starts_with("ERROR OutputLimit"), "{shown}");
    drop(agent);
    assert!(harness.wait_for_exit().await, "{:?}", harness.processes());
}

#[tokio::test]
async fn p11_unfinished_tools_are_closed() {
    let harness = Harness::new();
    let events = ask(&harness, "leaves-tools-open", json!({}), "ping").await;
    let count = |start: &str| {
        events
            .iter()
            .filter(|event| event.starts_with(start))
            .count()
    };
    assert_eq!((count("start"), count("end")), (2, 2), "{events:?}");
    assert!(last(&events).starts_with("RESULT \"Done.\""), "{events:?}");
}

#[tokio::test]
async fn tool_without_an_end_succeeds_with_its_turn_unless_it_was_refused() {
    let harness = Harness::new();
    for (prompt, end) in [("ping", "ok"), ("ask", "refused")] {
        let deny = json!({ "permissions": "deny" });
        let events = ask(&harness, "reports-no-end", deny, prompt).await;
        let all = events.join("\n");
        // The path arrived after the tool, and is part of its start.
        assert!(all.contains("/notes.txt"), "{all}");
        let ended = events.iter().find(|event| event.starts_with("end t1"));
        assert!(ended.unwrap().contains(end), "{all}");
        // The text before the tool is not part of the answer.
        assert!(last(&events).starts_with("RESULT \"Done.\""), "{all}");
    }
}

#[tokio::test]
async fn p5_agent_that_ignores_cancel_is_killed() {
    let harness = Harness::new();
    let agent = agent(&harness, "ignores-cancel", json!({})).await;
    let limits = TurnLimits {
        deadline: Duration::from_secs(1),
        ..agent.limits()
    };
    let agent = agent.with_limits(limits);
    let mut session = agent.new_session(options(&harness)).await.unwrap();
    let events = turn(&agent, &mut session, "ping").await;
    let shown = render::event(events.last().unwrap());
    assert!(shown.starts_with("ERROR Timeout"), "{shown}");
    // The process is killed with the turn, although the handle still exists.
    assert!(harness.wait_for_exit().await, "{:?}", harness.processes());
    drop(agent);
}

#[tokio::test]
async fn agent_that_does_not_read_cannot_stall_the_turn() {
    let harness = Harness::new();
    let agent = agent(&harness, "does-not-read", json!({})).await;
    let limits = TurnLimits {
        deadline: Duration::from_secs(2),
        ..agent.limits()
    };
    let agent = agent.with_limits(limits);
    let mut session = agent.new_session(options(&harness)).await.unwrap();
    let events = turn(&agent, &mut session, "ping").await;
    assert!(events.last().unwrap().is_terminal());
    drop(agent);
    assert!(harness.wait_for_exit().await, "{:?}", harness.processes());
}

#[tokio::test]
async fn p20_policy_answers_permission_requests() {
    let harness = Harness::new();
    let events = ask(
        &harness,
        "asks",
        json!({ "permissions": "deny" }),
        "notes.txt",
    )
    .await;
    assert!(last(&events).starts_with("RESULT \"n\""), "{events:?}");
    assert_eq!(harness.read("notes.txt"), "one\ntwo\n");
    let events = ask(
        &harness,
        "asks",
        json!({ "permissions": "allow" }),
        "notes.txt",
    )
    .await;
    assert!(last(&events).starts_with("RESULT \"yes\""), "{events:?}");
    assert!(events[0].starts_with("start t1 Edit"), "{events:?}");
    assert_eq!(harness.read("notes.txt"), "one\ntwo\nedited\n");
}

#[tokio::test]
async fn p20_rules_answer_by_kind_and_path() {
    let harness = Harness::new();
    let rules = json!([{ "kind": "write", "path": "*.txt", "answer": "allow" }]);
    let permissions = json!({ "permissions": { "default": "deny", "rules": rules } });
    for (path, expected) in [
        ("notes.txt", "yes"),
        ("notes.md", "n"),
        ("../x/../notes.txt", "n"),
    ] {
        let events = ask(&harness, "asks", permissions.clone(), path).await;
        assert!(
            last(&events).starts_with(&format!("RESULT \"{expected}\"")),
            "{events:?}"
        );
    }
}

#[tokio::test]
async fn p20_denial_never_selects_an_allow_option() {
    let harness = Harness::new();
    let events = ask(
        &harness,
        "offers-only-yes",
        json!({ "permissions": "deny" }),
        "x",
    )
    .await;
    assert!(
        last(&events).starts_with("RESULT \"cancelled\""),
        "{events:?}"
    );
    let events = ask(
        &harness,
        "asks-twice",
        json!({ "permissions": "allow" }),
        "x",
    )
    .await;
    assert!(last(&events).starts_with("RESULT \"y y\""), "{events:?}");
}

/// An approver that returns a fixed choice, or never answers, and records the requests.
#[derive(Debug, Default)]
pub(crate) struct TestApprover {
    pub(crate) choice: Option<&'static str>,
    pub(crate) recorded: Mutex<Vec<PermissionRequest>>,
}

impl Approver for TestApprover {
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Option<String>> {
        self.recorded.lock().unwrap().push(request);
        Box::pin(async {
            match self.choice {
                Some(choice) => Some(choice.to_owned()),
                None => std::future::pending().await,
            }
        })
    }
}

#[tokio::test]
async fn approver_decision_is_applied() {
    for (choice, outcome) in [("Y", "yes"), ("n", "n"), ("not offered", "n")] {
        let harness = Harness::new();
        let approver = Arc::new(TestApprover {
            choice: Some(choice),
            ..TestApprover::default()
        });
        let agent = agent(&harness, "asks", json!({ "permissions": "ask" })).await;
        let options = SessionOptions {
            approver: SessionApprover(Some(approver.clone())),
            ..options(&harness)
        };
        let mut session = agent.new_session(options).await.unwrap();
        let events = turn(&agent, &mut session, "notes.txt").await;
        let shown: Vec<String> = events.iter().map(render::event).collect();
        assert!(
            last(&shown).starts_with(&format!("RESULT \"{outcome}\"")),
            "{shown:?}"
        );
        let requests = events
            .iter()
            .filter(|event| matches!(event, AgentEvent::PermissionRequest { .. }));
        assert_eq!(requests.count(), 1);
        let recorded = approver.recorded.lock().unwrap();
        assert_eq!(recorded[0].paths, [PathBuf::from("notes.txt")]);
        assert_eq!(recorded[0].options.len(), 3);
    }
}

#[tokio::test]
async fn cancelled_turn_withdraws_its_permission_request() {
    let harness = Harness::new();
    let approver = Arc::new(TestApprover::default());
    let agent = agent(
        &harness,
        "waits-for-answer",
        json!({ "permissions": "ask" }),
    )
    .await;
    let options = SessionOptions {
        approver: SessionApprover(Some(approver)),
        ..options(&harness)
    };
    let session = agent.new_session(options).await.unwrap();
    let mut events = agent.prompt(&session, "ping").await.unwrap();
    let mut seen = Vec::new();
    while let Some(event) = events.recv().await {
        if matches!(event, AgentEvent::PermissionRequest { .. }) {
            agent.cancel(&session).await.unwrap();
        }
        seen.push(render::event(&event));
    }
    assert!(last(&seen).starts_with("ERROR Cancelled"), "{seen:?}");
    // The turn ended without force, so its process serves the next turn.
    assert!(!harness.processes().is_empty());
}

#[tokio::test]
async fn session_is_resumed_by_another_handle_and_unknown_session_is_rejected() {
    let harness = Harness::new();
    let first = agent(&harness, "plain", json!({})).await;
    let mut session = first.new_session(options(&harness)).await.unwrap();
    turn(&first, &mut session, "ping").await;
    drop(first);
    let second = agent(&harness, "plain", json!({})).await;
    second
        .load_session(&session, options(&harness))
        .await
        .unwrap();
    let events = turn(&second, &mut session, "ping").await;
    let shown: Vec<String> = events.iter().map(render::event).collect();
    assert!(!shown.join(" ").contains("history"), "{shown:?}");
    let unknown = SessionId::from("0-0");
    let error = second
        .load_session(&unknown, options(&harness))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::SessionNotFound { .. }), "{error}");
    let other = agent(&harness, "cannot-load", json!({})).await;
    let error = other
        .load_session(&session, options(&harness))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}

#[tokio::test]
async fn process_killed_between_turns_is_restarted() {
    let harness = Harness::new();
    let agent = agent(&harness, "plain", json!({})).await;
    let mut session = agent.new_session(options(&harness)).await.unwrap();
    turn(&agent, &mut session, "ping").await;
    for pid in harness.processes() {
        let _ = std::process::Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status();
    }
    let events = turn(&agent, &mut session, "ping").await;
    let shown: Vec<String> = events.iter().map(render::event).collect();
    assert!(last(&shown).starts_with("RESULT \"Pong 1.\""), "{shown:?}");
}

#[tokio::test]
async fn settings_are_sent_to_the_agent() {
    let harness = Harness::new();
    let extra = json!({ "mode": "build", "options": { "model": "large" } });
    let agent = agent(&harness, "plain", extra).await;
    let server = McpServer {
        name: "echo".to_owned(),
        command: "sh".to_owned(),
        args: vec!["-c".to_owned()],
        env: [("KEY".to_owned(), "value".to_owned())].into(),
        network: None,
    };
    let options = SessionOptions {
        mcp_servers: vec![server],
        ..options(&harness)
    };
    agent.new_session(options).await.unwrap();
    let set = harness.read("../home/.peer/set");
    assert!(set.contains("\"modeId\": \"build\""), "{set}");
    assert!(
        set.contains("\"configId\": \"model\"") && set.contains("\"value\": \"large\""),
        "{set}"
    );
    let servers = harness.read("../home/.peer/servers");
    let servers: Value = serde_json::from_str(&servers).unwrap();
    assert_eq!(servers[0]["name"], "echo");
    assert!(
        servers[0]["command"].as_str().unwrap().starts_with('/'),
        "{servers}"
    );
    assert_eq!(
        servers[0]["env"],
        json!([{ "name": "KEY", "value": "value" }])
    );
    let error = session_error(&harness, "plain", json!({ "mode": "yolo" }))
        .await
        .to_string();
    assert_eq!(error, "mode: expected one of plan, build");
    let error = session_error(&harness, "plain", json!({ "options": { "model": "huge" } }))
        .await
        .to_string();
    assert_eq!(error, "options.model: expected one of small, large");
}

#[tokio::test]
async fn usage_is_counted_per_turn() {
    let harness = Harness::new();
    let agent = agent(&harness, "uses", json!({})).await;
    let mut session = agent.new_session(options(&harness)).await.unwrap();
    for _ in 0..2 {
        let events = turn(&agent, &mut session, "ping").await;
        let Some(AgentEvent::Result {
            usage: Some(usage), ..
        }) = events.last()
        else {
            panic!("{events:?}");
        };
        assert_eq!((usage.input_tokens, usage.output_tokens), (10, 20));
        assert_eq!(
            (usage.cache_read_tokens, usage.cost_usd),
            (Some(5), Some(0.5))
        );
    }
}

#[tokio::test]
async fn errors_are_mapped_to_codes() {
    let harness = Harness::new();
    let check = async |error: Value, expected: &str| {
        let events = ask(&harness, "returns-error", json!({}), &error.to_string()).await;
        assert!(last(&events).starts_with(expected), "{error}: {events:?}");
    };
    check(
        json!([-32000, "Authentication required"]),
        "ERROR AuthFailed",
    )
    .await;
    check(
        json!([401, "{\"error\":{\"message\":\"API key not valid\"}}"]),
        "ERROR AuthFailed",
    )
    .await;
    check(json!([429, "slow down"]), "ERROR RateLimited").await;
    check(
        json!([-32603, "Internal error: Incorrect API key provided: x."]),
        "ERROR AuthFailed",
    )
    .await;
    check(
        json!([-32603, "x", { "details": "no rollout found for thread" }]),
        "INVALID",
    )
    .await;
    check(json!([-32002, "Session not found"]), "INVALID").await;
    check(json!([-32603, "the mast broke"]), "ERROR BackendError").await;
    let events = ask(&harness, "refuses", json!({}), "x").await;
    assert!(
        last(&events).starts_with("ERROR BackendError"),
        "{events:?}"
    );
}

#[tokio::test]
async fn sessions_are_listed_and_closed() {
    let harness = Harness::new();
    let context = harness.context(&[bin_dir()]).await;
    let settings = ProgramSettings::from_value(&config("plain", json!({}))).unwrap();
    let backend = acp::AcpBackend::new(None, settings, context);
    let id = backend.new_session(options(&harness)).await.unwrap();
    let listed = backend.list_sessions(harness.work()).await.unwrap();
    assert!(listed.iter().any(|session| session.id == id), "{listed:?}");
    backend.close_session(&id).await.unwrap();
    let error = backend.prompt(&id, "ping".into()).await.err().unwrap();
    assert!(matches!(error, Error::SessionNotFound { .. }), "{error}");
}

#[tokio::test]
async fn probe_reports_version_or_install_hint() {
    let harness = Harness::new();
    let context = harness.context(&[bin_dir()]).await;
    let found = acp::probe(None, &context, &config("plain", json!({})))
        .await
        .unwrap();
    assert_eq!(found.version.unwrap().to_string(), "1.2.3");
    assert_eq!(found.transport, "acp");
    for preset in acp::PRESETS {
        let error = acp::probe(Some(preset), &context, &json!({}))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("in PATH") && error.contains(&preset.program.install_hint()),
            "{error}"
        );
    }
    let error = acp::factory(None, context.clone())(&json!({}))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("command: set the program to start"),
        "{error}"
    );
    let error = acp::factory(None, context)(&json!({ "preset": "gemin" }))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("preset: expected one of claude-agent-acp"),
        "{error}"
    );
}
