//! ACP with a peer that keeps to the protocol, and with one that does not.

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

use super::shown;
use super::world::{World, turn};

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peer")
}

fn config(way: &str, more: Value) -> Value {
    let mut config = json!({ "command": ["acp-peer", way] });
    for (key, value) in more.as_object().into_iter().flatten() {
        config[key] = value.clone();
    }
    config
}

async fn agent(world: &World, way: &str, more: Value) -> AgentHandle {
    let context = world.context(&[folder()]).await;
    acp::factory(None, context)(&config(way, more)).unwrap()
}

fn options(world: &World) -> SessionOptions {
    SessionOptions::in_dir(world.work())
}

/// One turn in a new session, event by event.
async fn ask(world: &World, way: &str, more: Value, prompt: &str) -> Vec<String> {
    let agent = agent(world, way, more).await;
    let mut session = agent.new_session(options(world)).await.unwrap();
    let events = turn(&agent, &mut session, prompt).await;
    events.iter().map(shown::event).collect()
}

async fn refusal(world: &World, way: &str, more: Value) -> Error {
    let agent = agent(world, way, more).await;
    agent.new_session(options(world)).await.unwrap_err()
}

fn last(events: &[String]) -> &str {
    events.last().unwrap()
}

#[tokio::test]
async fn a_turn_and_another_on_the_same_process() {
    let world = World::new();
    let agent = agent(&world, "plain", json!({})).await;
    let mut session = agent.new_session(options(&world)).await.unwrap();
    for number in 1..3 {
        let events = turn(&agent, &mut session, "ping").await;
        let shown: Vec<String> = events.iter().map(shown::event).collect();
        assert_eq!(shown[0], format!("text \"Pong {number}.\""));
        assert!(last(&shown).starts_with("RESULT"), "{shown:?}");
    }
    assert!(agent.capabilities().load_session);
    drop(agent);
    assert!(world.is_left().await, "{:?}", world.processes());
}

#[tokio::test]
async fn a_process_that_nobody_uses_ends_and_its_session_goes_on() {
    let world = World::new();
    let clock = Arc::new(FakeClock::at(Timestamp(0)));
    let context = world.context(&[folder()]).await;
    let context = context.with_clock(clock.clone());
    let agent = acp::factory(None, context)(&config("plain", json!({}))).unwrap();
    let mut session = agent.new_session(options(&world)).await.unwrap();
    turn(&agent, &mut session, "ping").await;
    clock.advance(Duration::from_secs(59));
    turn(&agent, &mut session, "ping").await;
    // The minute of the first turn is over, that of the second is not.
    clock.advance(Duration::from_secs(1));
    assert!(!world.processes().is_empty());
    clock.advance(Duration::from_secs(60));
    assert!(world.is_left().await, "{:?}", world.processes());
    let events = turn(&agent, &mut session, "ping").await;
    let shown: Vec<String> = events.iter().map(shown::event).collect();
    assert!(last(&shown).starts_with("RESULT"), "{shown:?}");
}

#[tokio::test]
async fn sessions_of_one_folder_share_a_process_and_do_not_hear_each_other() {
    let world = World::new();
    let agent = agent(&world, "plain", json!({})).await;
    let mut one = agent.new_session(options(&world)).await.unwrap();
    let mut two = agent.new_session(options(&world)).await.unwrap();
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
async fn p12_what_no_agent_should_send_is_passed_over_and_shown() {
    let world = World::new();
    let events = ask(&world, "rude", json!({}), "ping").await;
    let all = events.join("\n");
    assert!(last(&events).starts_with("RESULT \"Sorry.\""), "{all}");
    assert!(!all.contains("not for you"), "{all}");
    for seen in ["Loading plugins", "brand_new_update", "end ghost", "mood"] {
        assert!(all.contains(seen), "{seen} is not in\n{all}");
    }
}

#[tokio::test]
async fn only_version_one_is_spoken() {
    let world = World::new();
    let error = refusal(&world, "version-999", json!({})).await.to_string();
    assert!(error.contains("version"), "{error}");
    assert!(world.is_left().await);
}

#[tokio::test]
async fn who_has_to_log_in_is_told_how() {
    let world = World::new();
    let error = refusal(&world, "needs-login", json!({})).await;
    assert_eq!(error.code(), ErrorCode::AuthFailed);
    let said = error.to_string();
    assert!(
        said.contains("Log in on the web (web), A key (key)"),
        "{said}"
    );
}

#[tokio::test]
async fn p16_nothing_is_offered_and_every_request_is_answered() {
    let world = World::new();
    let events = ask(&world, "wants-everything", json!({}), "ping").await;
    assert!(
        last(&events).starts_with("RESULT \"[-32601]\""),
        "{events:?}"
    );
}

#[tokio::test]
async fn p5_an_agent_that_dies_ends_the_turn_once() {
    let world = World::new();
    let events = ask(&world, "dies", json!({}), "ping").await;
    assert!(
        last(&events).starts_with("ERROR SessionOrphaned"),
        "{events:?}"
    );
    assert!(last(&events).contains("out of rope"), "{events:?}");
    let events = ask(&world, "dies-in-a-frame", json!({}), "ping").await;
    assert!(
        last(&events).starts_with("ERROR SessionOrphaned"),
        "{events:?}"
    );
    let ends = |event: &&String| event.starts_with("ERROR") || event.starts_with("RESULT");
    assert_eq!(events.iter().filter(ends).count(), 1);
    assert!(world.is_left().await, "{:?}", world.processes());
}

#[tokio::test]
async fn p12_a_line_without_end_ends_the_turn() {
    let world = World::new();
    let events = ask(&world, "over-long", json!({}), "ping").await;
    assert!(last(&events).starts_with("ERROR OutputLimit"), "{events:?}");
    assert!(world.is_left().await, "{:?}", world.processes());
}

#[tokio::test]
async fn p12_a_flood_ends_at_the_limit_of_a_turn() {
    let world = World::new();
    let agent = agent(&world, "floods", json!({})).await;
    let limits = TurnLimits {
        turn_bytes: 1 << 20,
        ..agent.limits()
    };
    let agent = agent.with_limits(limits);
    let mut session = agent.new_session(options(&world)).await.unwrap();
    let events = turn(&agent, &mut session, "ping").await;
    let shown = shown::event(events.last().unwrap());
    assert!(shown.starts_with("ERROR OutputLimit"), "{shown}");
    drop(agent);
    assert!(world.is_left().await, "{:?}", world.processes());
}

#[tokio::test]
async fn p11_tools_that_an_agent_leaves_open_are_closed() {
    let world = World::new();
    let events = ask(&world, "leaves-tools-open", json!({}), "ping").await;
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
async fn p5_an_agent_that_does_not_stop_is_stopped() {
    let world = World::new();
    let agent = agent(&world, "deaf", json!({})).await;
    let limits = TurnLimits {
        deadline: Duration::from_secs(1),
        ..agent.limits()
    };
    let agent = agent.with_limits(limits);
    let mut session = agent.new_session(options(&world)).await.unwrap();
    let events = turn(&agent, &mut session, "ping").await;
    let shown = shown::event(events.last().unwrap());
    assert!(shown.starts_with("ERROR Timeout"), "{shown}");
    // The process is given up with the turn, while the handle lives.
    assert!(world.is_left().await, "{:?}", world.processes());
    drop(agent);
}

#[tokio::test]
async fn an_agent_that_does_not_read_is_not_read() {
    let world = World::new();
    let agent = agent(&world, "does-not-read", json!({})).await;
    let limits = TurnLimits {
        deadline: Duration::from_secs(2),
        ..agent.limits()
    };
    let agent = agent.with_limits(limits);
    let mut session = agent.new_session(options(&world)).await.unwrap();
    let events = turn(&agent, &mut session, "ping").await;
    assert!(events.last().unwrap().is_terminal());
    drop(agent);
    assert!(world.is_left().await, "{:?}", world.processes());
}

#[tokio::test]
async fn p20_the_policy_answers() {
    let world = World::new();
    let events = ask(
        &world,
        "asks",
        json!({ "permissions": "deny" }),
        "notes.txt",
    )
    .await;
    assert!(last(&events).starts_with("RESULT \"n\""), "{events:?}");
    assert_eq!(world.read("notes.txt"), "one\ntwo\n");
    let events = ask(
        &world,
        "asks",
        json!({ "permissions": "allow" }),
        "notes.txt",
    )
    .await;
    assert!(last(&events).starts_with("RESULT \"yes\""), "{events:?}");
    assert!(events[0].starts_with("start t1 Edit"), "{events:?}");
    assert_eq!(world.read("notes.txt"), "one\ntwo\nedited\n");
}

#[tokio::test]
async fn p20_rules_answer_by_kind_and_path() {
    let world = World::new();
    let rules = json!([{ "kind": "write", "path": "*.txt", "answer": "allow" }]);
    let permissions = json!({ "permissions": { "default": "deny", "rules": rules } });
    for (path, said) in [
        ("notes.txt", "yes"),
        ("notes.md", "n"),
        ("../x/../notes.txt", "n"),
    ] {
        let events = ask(&world, "asks", permissions.clone(), path).await;
        assert!(
            last(&events).starts_with(&format!("RESULT \"{said}\"")),
            "{events:?}"
        );
    }
}

#[tokio::test]
async fn p20_no_is_never_taken_for_yes() {
    let world = World::new();
    let events = ask(
        &world,
        "offers-only-yes",
        json!({ "permissions": "deny" }),
        "x",
    )
    .await;
    assert!(
        last(&events).starts_with("RESULT \"cancelled\""),
        "{events:?}"
    );
    let events = ask(&world, "asks-twice", json!({ "permissions": "allow" }), "x").await;
    assert!(last(&events).starts_with("RESULT \"y y\""), "{events:?}");
}

/// Somebody who answers what it was told to, and keeps the questions.
#[derive(Debug, Default)]
pub(crate) struct Person {
    pub(crate) says: Option<&'static str>,
    pub(crate) asked: Mutex<Vec<PermissionRequest>>,
}

impl Approver for Person {
    fn decide(&self, ask: PermissionRequest) -> BoxFuture<'_, Option<String>> {
        self.asked.lock().unwrap().push(ask);
        Box::pin(async {
            match self.says {
                Some(says) => Some(says.to_owned()),
                None => std::future::pending().await,
            }
        })
    }
}

#[tokio::test]
async fn a_person_is_asked_and_obeyed() {
    for (says, outcome) in [("Y", "yes"), ("n", "n"), ("not offered", "n")] {
        let world = World::new();
        let person = Arc::new(Person {
            says: Some(says),
            ..Person::default()
        });
        let agent = agent(&world, "asks", json!({ "permissions": "ask" })).await;
        let options = SessionOptions {
            approver: SessionApprover(Some(person.clone())),
            ..options(&world)
        };
        let mut session = agent.new_session(options).await.unwrap();
        let events = turn(&agent, &mut session, "notes.txt").await;
        let shown: Vec<String> = events.iter().map(shown::event).collect();
        assert!(
            last(&shown).starts_with(&format!("RESULT \"{outcome}\"")),
            "{shown:?}"
        );
        let requests = events
            .iter()
            .filter(|event| matches!(event, AgentEvent::PermissionRequest { .. }));
        assert_eq!(requests.count(), 1);
        let asked = person.asked.lock().unwrap();
        assert_eq!(asked[0].paths, [PathBuf::from("notes.txt")]);
        assert_eq!(asked[0].options.len(), 3);
    }
}

#[tokio::test]
async fn a_cancelled_turn_takes_its_question_back() {
    let world = World::new();
    let person = Arc::new(Person::default());
    let agent = agent(&world, "asks-in-vain", json!({ "permissions": "ask" })).await;
    let options = SessionOptions {
        approver: SessionApprover(Some(person)),
        ..options(&world)
    };
    let session = agent.new_session(options).await.unwrap();
    let mut events = agent.prompt(&session, "ping").await.unwrap();
    let mut seen = Vec::new();
    while let Some(event) = events.recv().await {
        if matches!(event, AgentEvent::PermissionRequest { .. }) {
            agent.cancel(&session).await.unwrap();
        }
        seen.push(shown::event(&event));
    }
    assert!(last(&seen).starts_with("ERROR Cancelled"), "{seen:?}");
    // It ended by itself, so its process serves the next turn.
    assert!(!world.processes().is_empty());
}

#[tokio::test]
async fn a_session_is_taken_up_by_another_handle_and_an_unknown_one_is_not() {
    let world = World::new();
    let first = agent(&world, "plain", json!({})).await;
    let mut session = first.new_session(options(&world)).await.unwrap();
    turn(&first, &mut session, "ping").await;
    drop(first);
    let second = agent(&world, "plain", json!({})).await;
    second
        .load_session(&session, options(&world))
        .await
        .unwrap();
    let events = turn(&second, &mut session, "ping").await;
    let shown: Vec<String> = events.iter().map(shown::event).collect();
    assert!(!shown.join(" ").contains("history"), "{shown:?}");
    let unknown = SessionId::from("0-0");
    let error = second
        .load_session(&unknown, options(&world))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::SessionNotFound { .. }), "{error}");
    let forgetful = agent(&world, "forgets", json!({})).await;
    let error = forgetful
        .load_session(&session, options(&world))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}

#[tokio::test]
async fn a_process_that_died_between_two_turns_is_started_again() {
    let world = World::new();
    let agent = agent(&world, "plain", json!({})).await;
    let mut session = agent.new_session(options(&world)).await.unwrap();
    turn(&agent, &mut session, "ping").await;
    for pid in world.processes() {
        let _ = std::process::Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status();
    }
    let events = turn(&agent, &mut session, "ping").await;
    let shown: Vec<String> = events.iter().map(shown::event).collect();
    assert!(last(&shown).starts_with("RESULT \"Pong 1.\""), "{shown:?}");
}

#[tokio::test]
async fn what_is_set_is_said_to_the_agent() {
    let world = World::new();
    let more = json!({ "mode": "build", "options": { "model": "large" } });
    let agent = agent(&world, "plain", more).await;
    let server = McpServer {
        name: "echo".to_owned(),
        command: "sh".to_owned(),
        args: vec!["-c".to_owned()],
        env: [("KEY".to_owned(), "value".to_owned())].into(),
    };
    let options = SessionOptions {
        mcp_servers: vec![server],
        ..options(&world)
    };
    agent.new_session(options).await.unwrap();
    let set = world.read(".peer-sessions/set");
    assert!(set.contains("\"modeId\": \"build\""), "{set}");
    assert!(
        set.contains("\"configId\": \"model\"") && set.contains("\"value\": \"large\""),
        "{set}"
    );
    let servers = world.read(".peer-sessions/servers");
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
    let error = refusal(&world, "plain", json!({ "mode": "yolo" }))
        .await
        .to_string();
    assert_eq!(error, "mode: expected one of plan, build");
    let error = refusal(&world, "plain", json!({ "options": { "model": "huge" } }))
        .await
        .to_string();
    assert_eq!(error, "options.model: expected one of small, large");
}

#[tokio::test]
async fn a_turn_counts_its_own() {
    let world = World::new();
    let agent = agent(&world, "uses", json!({})).await;
    let mut session = agent.new_session(options(&world)).await.unwrap();
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
async fn errors_have_their_codes() {
    let world = World::new();
    let check = async |error: Value, expected: &str| {
        let events = ask(&world, "says-error", json!({}), &error.to_string()).await;
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
    let events = ask(&world, "refuses", json!({}), "x").await;
    assert!(
        last(&events).starts_with("ERROR BackendError"),
        "{events:?}"
    );
}

#[tokio::test]
async fn sessions_are_listed_and_put_away() {
    let world = World::new();
    let context = world.context(&[folder()]).await;
    let settings = ProgramSettings::from_value(&config("plain", json!({}))).unwrap();
    let backend = acp::AcpBackend::new(None, settings, context);
    let id = backend.new_session(options(&world)).await.unwrap();
    let listed = backend.list_sessions(world.work()).await.unwrap();
    assert!(listed.iter().any(|session| session.id == id), "{listed:?}");
    backend.close_session(&id).await.unwrap();
    let error = backend.prompt(&id, "ping".into()).await.err().unwrap();
    assert!(matches!(error, Error::SessionNotFound { .. }), "{error}");
}

#[tokio::test]
async fn a_program_says_what_it_is_or_how_to_get_it() {
    let world = World::new();
    let context = world.context(&[folder()]).await;
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
            error.contains("on the PATH") && error.contains(preset.install),
            "{error}"
        );
    }
    let error = acp::factory(None, context.clone())(&json!({}))
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("command: say which program"), "{error}");
    let error = acp::factory(None, context)(&json!({ "preset": "gemin" }))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("preset: expected one of claude-agent-acp"),
        "{error}"
    );
}
