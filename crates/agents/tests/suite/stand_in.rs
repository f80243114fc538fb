//! The driver on a stand-in for Cursor, which does what the real one is documented to do.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_agents::{AgentContext, cli, cursor};
use windlass_core::{AgentEvent, AgentHandle, Error, ErrorCode, SessionId, SessionOptions};

use super::shown;
use super::world::{KEY, World, turn};

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand-in")
}

async fn agent(world: &World, config: Value) -> AgentHandle {
    let context = world.context(&[folder()]).await;
    cursor::factory(context)(&config).unwrap()
}

fn keyed() -> Value {
    json!({ "api_key_env": "TEST_KEY" })
}

async fn ask(world: &World, agent: &AgentHandle, prompt: &str) -> Vec<String> {
    let options = SessionOptions::in_dir(world.work());
    let mut session = agent.new_session(options).await.unwrap();
    let events = turn(agent, &mut session, prompt).await;
    // The session's name is another each time.
    events.iter().skip(1).map(shown::event).collect()
}

#[tokio::test]
async fn it_answers_and_remembers() {
    let world = World::new();
    let agent = agent(&world, keyed()).await;
    let options = SessionOptions::in_dir(world.work());
    let mut session = agent.new_session(options).await.unwrap();
    let before = session.clone();
    let first = turn(&agent, &mut session, "hello").await;
    assert_ne!(
        before, session,
        "the agent names the session in its first turn"
    );
    assert_eq!(
        first[1..].iter().map(shown::event).collect::<Vec<_>>(),
        [
            "text \"Mess\"",
            "text \"age 1.\"",
            "RESULT \"Message 1.\" null {\"duration_ms\":5,\"aftermath\":{\"exit_code\":0}}"
        ]
    );
    for (id, expected) in [(before, "Message 2."), (session, "Message 3.")] {
        let events = turn(&agent, &mut id.clone(), "hello").await;
        assert!(
            shown::event(events.last().unwrap()).contains(expected),
            "{events:?}"
        );
    }
}

#[tokio::test]
async fn it_writes_only_where_it_may() {
    let world = World::new();
    let refused = ask(&world, &agent(&world, keyed()).await, "write").await;
    assert!(
        refused[1].starts_with("end c1 write failed {\"error\":\"permission denied\""),
        "{refused:?}"
    );
    assert_eq!(world.read("hello.txt"), "");
    let config = json!({ "api_key_env": "TEST_KEY", "permissions": "allow" });
    let allowed = ask(&world, &agent(&world, config).await, "write").await;
    assert!(allowed[1].starts_with("end c1 write ok"), "{allowed:?}");
    assert_eq!(world.read("hello.txt"), "hello\n");
}

#[tokio::test]
async fn it_fails_in_our_words() {
    let world = World::new();
    let agent = agent(&world, keyed()).await;
    let limit = ask(&world, &agent, "fail").await;
    assert_eq!(
        limit[1..],
        [
            "ERROR RateLimited (try again): cursor ended with exit code 1: Error: You've hit your usage limit. Try again in 7 minutes. (wait 420 s)"
        ]
    );
    assert!(
        limit[0].contains("aftermath") && limit[0].contains("420000"),
        "{limit:?}"
    );
    let crash = ask(&world, &agent, "crash").await;
    assert_eq!(
        crash[1..],
        [
            "ERROR BackendError (try again): cursor ended with exit code 137 and did not say how the turn ended"
        ]
    );
    let unknown = SessionId::from("no-such-chat");
    agent
        .load_session(&unknown, SessionOptions::in_dir(world.work()))
        .await
        .unwrap();
    let events = turn(&agent, &mut unknown.clone(), "hello").await;
    assert!(
        matches!(events[..], [.., AgentEvent::SessionInvalid { .. }]),
        "{events:?}"
    );
}

#[tokio::test]
async fn p5_it_is_stopped_with_all_it_started() {
    let world = World::new();
    let agent = agent(&world, keyed()).await;
    let session = agent
        .new_session(SessionOptions::in_dir(world.work()))
        .await
        .unwrap();
    let mut events = agent.prompt(&session, "wait").await.unwrap();
    while !matches!(events.recv().await, Some(AgentEvent::ToolStart { .. })) {}
    assert!(!world.processes().is_empty());
    agent.cancel(&session).await.unwrap();
    let rest = events.collect().await;
    assert!(
        shown::event(rest.last().unwrap()).starts_with("ERROR Cancelled"),
        "{rest:?}"
    );
    assert!(world.is_left().await);
}

#[tokio::test]
async fn p18_it_gets_its_own_key_and_no_other_secret() {
    let world = World::new();
    let seen = ask(&world, &agent(&world, keyed()).await, "environment")
        .await
        .join(" ");
    assert!(
        seen.contains("CURSOR_API_KEY") && seen.contains(KEY),
        "{seen}"
    );
    assert!(
        !seen.contains("SECRET_TOKEN") && !seen.contains("TEST_KEY"),
        "{seen}"
    );
}

#[tokio::test]
async fn p19_the_key_is_in_no_argument_and_no_debug() {
    let world = World::new();
    let seen = ask(&world, &agent(&world, keyed()).await, "environment").await;
    let answer = seen.last().unwrap();
    // Once as the value it was asked for, and not again among the arguments that follow.
    assert_eq!(answer.matches(KEY).count(), 1, "{answer}");
    let context = world.context(&[folder()]).await;
    assert!(!format!("{context:?} {:?}", agent(&world, keyed()).await).contains(KEY));
}

#[tokio::test]
async fn p21_a_session_is_no_flag() {
    let world = World::new();
    let agent = agent(&world, keyed()).await;
    for id in ["--force", "", "a b", "x\ny"] {
        let loaded = agent
            .load_session(&id.into(), SessionOptions::in_dir(world.work()))
            .await;
        assert!(
            matches!(loaded, Err(Error::InvalidInput(_))),
            "{id:?}: {loaded:?}"
        );
    }
    let options = SessionOptions {
        model: Some("--help".to_owned()),
        ..SessionOptions::in_dir(world.work())
    };
    assert!(matches!(
        agent.new_session(options).await,
        Err(Error::InvalidInput(_))
    ));
}

#[tokio::test]
async fn what_it_cannot_do_is_refused_before_it_starts() {
    let world = World::new();
    let agent = agent(&world, keyed()).await;
    let options = SessionOptions {
        output_schema: Some(json!({})),
        ..SessionOptions::in_dir(world.work())
    };
    assert!(matches!(
        agent.new_session(options).await,
        Err(Error::Unsupported { .. })
    ));
    let context = world.context(&[folder()]).await;
    let elsewhere = cursor::factory(context)(&json!({ "endpoint": "http://localhost:1" }));
    let said = elsewhere.unwrap_err().to_string();
    assert!(
        said.starts_with("endpoint: cursor cannot be pointed"),
        "{said}"
    );
}

#[tokio::test]
async fn one_that_is_not_there_says_how_to_get_it() {
    let world = World::new();
    let context: AgentContext = world.context(&[]).await;
    for profile in cli::PROFILES {
        let missing = cli::probe(profile, &context, &json!({})).await.unwrap_err();
        let said = missing.to_string();
        assert!(matches!(missing, Error::Unavailable { .. }), "{said}");
        assert!(
            said.contains("on the PATH") && said.contains("install"),
            "{said}"
        );
        assert_eq!(missing.code(), ErrorCode::BackendError);
    }
}

#[tokio::test]
async fn one_that_is_there_says_what_it_is() {
    let world = World::new();
    let context = world.context(&[folder()]).await;
    let found = cli::probe(&cursor::PROFILE, &context, &json!({}))
        .await
        .unwrap();
    assert_eq!(
        (found.name, found.version.to_string().as_str()),
        ("cursor", "2026.10.1")
    );
    assert_eq!(found.transport.name, "stream-json");
    assert!(found.capabilities().load_session);
    let chosen = cli::probe(
        &cursor::PROFILE,
        &context,
        &json!({ "transport": "pigeon" }),
    )
    .await;
    assert!(
        chosen
            .unwrap_err()
            .to_string()
            .contains("expected one of stream-json")
    );
}

#[tokio::test]
async fn a_version_is_asked_for_again_only_when_the_program_changed() {
    let world = World::new();
    let bin = world.home().join("agent");
    let install = |version: &str| {
        let script = format!("#!/bin/sh\necho {version}\n");
        let _ = std::fs::remove_file(&bin);
        std::fs::write(&bin, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&bin, mode).unwrap();
    };
    let context = world.context(&[folder()]).await;
    let config = json!({ "bin": bin });
    for version in ["1.0.0", "2.0.0"] {
        install(version);
        for _ in 0..2 {
            let found = cli::probe(&cursor::PROFILE, &context, &config)
                .await
                .unwrap();
            assert_eq!(found.version.to_string(), version);
        }
    }
    let kept = std::fs::read_to_string(world.state().join("versions.json")).unwrap();
    assert!(kept.contains("2.0.0") && !kept.contains("1.0.0"), "{kept}");
    // An agent that is gone is not there, whatever it once said.
    std::fs::remove_file(&bin).unwrap();
    let gone = cli::probe(&cursor::PROFILE, &context, &config).await;
    assert!(matches!(gone, Err(Error::Unavailable { .. })), "{gone:?}");
}
