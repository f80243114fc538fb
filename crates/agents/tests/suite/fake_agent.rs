//! The CLI driver on a fake of Cursor, which behaves as the real one is documented.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_agents::{AgentContext, cli, cursor};
use windlass_core::{AgentEvent, AgentHandle, Error, ErrorCode, SessionId, SessionOptions};
use windlass_sandbox::{Host, Sandbox};

use super::harness::{Harness, KEY, turn};
use super::render;

/// Returns the directory of the fake agents.
pub(crate) fn bin_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake-agent")
}

async fn agent(harness: &Harness, config: Value) -> AgentHandle {
    let context = harness.context(&[bin_dir()]).await;
    cursor::factory(context)(&config).unwrap()
}

fn config_with_key() -> Value {
    json!({ "api_key_env": "TEST_KEY" })
}

async fn ask(harness: &Harness, agent: &AgentHandle, prompt: &str) -> Vec<String> {
    let options = SessionOptions::in_dir(harness.work());
    let mut session = agent.new_session(options).await.unwrap();
    let events = turn(agent, &mut session, prompt).await;
    // The first event has the session id, which differs each time.
    events.iter().skip(1).map(render::event).collect()
}

#[tokio::test]
async fn session_continues_across_turns() {
    let harness = Harness::new();
    let agent = agent(&harness, config_with_key()).await;
    let options = SessionOptions::in_dir(harness.work());
    let mut session = agent.new_session(options).await.unwrap();
    let before = session.clone();
    let first = turn(&agent, &mut session, "hello").await;
    assert_ne!(
        before, session,
        "the agent names the session in its first turn"
    );
    assert_eq!(
        first[1..].iter().map(render::event).collect::<Vec<_>>(),
        [
            "text \"Mess\"",
            "text \"age 1.\"",
            "RESULT \"Message 1.\" null {\"duration_ms\":5,\"diagnostics\":{\"exit_code\":0}}"
        ]
    );
    for (id, expected) in [(before, "Message 2."), (session, "Message 3.")] {
        let events = turn(&agent, &mut id.clone(), "hello").await;
        assert!(
            render::event(events.last().unwrap()).contains(expected),
            "{events:?}"
        );
    }
}

#[tokio::test]
async fn write_needs_permission() {
    let harness = Harness::new();
    let denied = ask(&harness, &agent(&harness, config_with_key()).await, "write").await;
    assert!(
        denied[1].starts_with("end c1 write failed {\"error\":\"permission denied\""),
        "{denied:?}"
    );
    assert_eq!(harness.read("hello.txt"), "");
    let config = json!({ "api_key_env": "TEST_KEY", "permissions": "allow" });
    let allowed = ask(&harness, &agent(&harness, config).await, "write").await;
    assert!(allowed[1].starts_with("end c1 write ok"), "{allowed:?}");
    assert_eq!(harness.read("hello.txt"), "hello\n");
}

#[tokio::test]
async fn failures_are_mapped_to_error_codes() {
    let harness = Harness::new();
    let agent = agent(&harness, config_with_key()).await;
    let limit = ask(&harness, &agent, "fail").await;
    assert_eq!(
        limit[1..],
        [
            "ERROR RateLimited (try again): cursor ended with exit code 1: Error: You've hit your usage limit. Try again in 7 minutes. (wait 420 s)"
        ]
    );
    assert!(
        limit[0].contains("diagnostics") && limit[0].contains("420000"),
        "{limit:?}"
    );
    let crash = ask(&harness, &agent, "crash").await;
    assert_eq!(
        crash[1..],
        [
            "ERROR BackendError (try again): cursor ended with exit code 137 without reporting a result"
        ]
    );
    let unknown = SessionId::from("no-such-chat");
    agent
        .load_session(&unknown, SessionOptions::in_dir(harness.work()))
        .await
        .unwrap();
    let events = turn(&agent, &mut unknown.clone(), "hello").await;
    assert!(
        matches!(events[..], [.., AgentEvent::SessionInvalid { .. }]),
        "{events:?}"
    );
}

#[tokio::test]
async fn p5_cancel_kills_the_process_tree() {
    let harness = Harness::new();
    let agent = agent(&harness, config_with_key()).await;
    let session = agent
        .new_session(SessionOptions::in_dir(harness.work()))
        .await
        .unwrap();
    let mut events = agent.prompt(&session, "wait").await.unwrap();
    while !matches!(events.recv().await, Some(AgentEvent::ToolStart { .. })) {}
    assert!(!harness.processes().is_empty());
    agent.cancel(&session).await.unwrap();
    let rest = events.collect().await;
    assert!(
        render::event(rest.last().unwrap()).starts_with("ERROR Cancelled"),
        "{rest:?}"
    );
    assert!(harness.wait_for_exit().await);
}

#[tokio::test]
async fn p18_agent_gets_its_key_and_no_other_secret() {
    let harness = Harness::new();
    let seen = ask(
        &harness,
        &agent(&harness, config_with_key()).await,
        "environment",
    )
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
async fn p19_key_is_absent_from_arguments_and_debug_output() {
    let harness = Harness::new();
    let agent = agent(&harness, config_with_key()).await;
    let options = SessionOptions::in_dir(harness.work());
    let mut session = agent.new_session(options).await.unwrap();
    let events = turn(&agent, &mut session, "environment").await;
    let answer = serde_json::to_string(events.last().unwrap()).unwrap();
    // Once as the requested value, and not in the arguments that follow.
    assert_eq!(answer.matches(KEY).count(), 1, "{answer}");
    let context = harness.context(&[bin_dir()]).await;
    assert!(!format!("{context:?} {agent:?}").contains(KEY));
}

#[tokio::test]
async fn cursor_gets_its_default_model_unless_one_is_set() {
    let harness = Harness::new();
    let path = format!("{}:/usr/bin:/bin", bin_dir().display());
    for (variable, configured, model) in [
        (None, None, "gpt-5.1-codex-max-high"),
        (Some("composer-2.5"), None, "composer-2.5"),
        (Some("composer-2.5"), Some("gpt-5"), "gpt-5"),
    ] {
        let home = harness.home().display().to_string();
        let mut variables = vec![
            ("HOME", home.as_str()),
            ("PATH", path.as_str()),
            ("CURSOR_API_KEY", "dummy"),
        ];
        variables.extend(variable.map(|name| ("WORKER_CURSOR_MODEL", name)));
        let sandbox = Sandbox::detect(Host::new(variables)).await.unwrap();
        let context = AgentContext::new(sandbox, harness.state());
        let mut config = json!({});
        if let Some(model) = configured {
            config["model"] = model.into();
        }
        let agent = cli::factory(&cursor::PROFILE, context)(&config).unwrap();
        let mut session = agent
            .new_session(SessionOptions::in_dir(harness.work()))
            .await
            .unwrap();
        let events = turn(&agent, &mut session, "environment").await;
        let answer = serde_json::to_string(events.last().unwrap()).unwrap();
        assert!(answer.contains(&format!("--model={model}")), "{answer}");
    }
}

#[tokio::test]
async fn p21_session_and_model_cannot_be_flags() {
    let harness = Harness::new();
    let agent = agent(&harness, config_with_key()).await;
    for id in ["--force", "", "a b", "x\ny"] {
        let loaded = agent
            .load_session(&id.into(), SessionOptions::in_dir(harness.work()))
            .await;
        assert!(
            matches!(loaded, Err(Error::InvalidInput(_))),
            "{id:?}: {loaded:?}"
        );
    }
    let options = SessionOptions {
        model: Some("--help".to_owned()),
        ..SessionOptions::in_dir(harness.work())
    };
    assert!(matches!(
        agent.new_session(options).await,
        Err(Error::InvalidInput(_))
    ));
}

#[tokio::test]
async fn unsupported_options_are_rejected_before_start() {
    let harness = Harness::new();
    let agent = agent(&harness, config_with_key()).await;
    let options = SessionOptions {
        output_schema: Some(json!({})),
        ..SessionOptions::in_dir(harness.work())
    };
    assert!(matches!(
        agent.new_session(options).await,
        Err(Error::Unsupported { .. })
    ));
    let context = harness.context(&[bin_dir()]).await;
    let result = cursor::factory(context)(&json!({ "endpoint": "http://localhost:1" }));
    let error = result.unwrap_err().to_string();
    assert!(
        error.starts_with("endpoint: cursor does not support another endpoint"),
        "{error}"
    );
}

#[tokio::test]
async fn missing_program_error_has_install_hint() {
    let harness = Harness::new();
    let context: AgentContext = harness.context(&[]).await;
    for profile in cli::PROFILES {
        let missing = cli::probe(profile, &context, &json!({})).await.unwrap_err();
        let message = missing.to_string();
        assert!(matches!(missing, Error::Unavailable { .. }), "{message}");
        assert!(
            message.contains("in PATH") && message.contains("install"),
            "{message}"
        );
        assert_eq!(missing.code(), ErrorCode::BackendError);
    }
}

#[tokio::test]
async fn probe_reports_name_version_and_transport() {
    let harness = Harness::new();
    let context = harness.context(&[bin_dir()]).await;
    let found = cli::probe(&cursor::PROFILE, &context, &json!({}))
        .await
        .unwrap();
    assert_eq!(
        (found.name, found.version.unwrap().to_string().as_str()),
        ("cursor", "2026.10.1")
    );
    assert_eq!(found.transport, "stream-json");
    assert!(found.capabilities.load_session);
    let result = cli::probe(
        &cursor::PROFILE,
        &context,
        &json!({ "transport": "pigeon" }),
    )
    .await;
    assert!(
        result
            .unwrap_err()
            .to_string()
            .contains("expected one of stream-json")
    );
}

#[tokio::test]
async fn version_is_cached_until_the_program_changes() {
    let harness = Harness::new();
    let bin = harness.home().join("agent");
    let install = |version: &str| {
        let script = format!("#!/bin/sh\necho {version}\n");
        let _ = std::fs::remove_file(&bin);
        std::fs::write(&bin, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&bin, mode).unwrap();
    };
    let context = harness.context(&[bin_dir()]).await;
    let config = json!({ "bin": bin });
    for version in ["1.0.0", "2.0.0"] {
        install(version);
        for _ in 0..2 {
            let found = cli::probe(&cursor::PROFILE, &context, &config)
                .await
                .unwrap();
            assert_eq!(found.version.unwrap().to_string(), version);
        }
    }
    let cache = std::fs::read_to_string(harness.state().join("versions.json")).unwrap();
    assert!(
        cache.contains("2.0.0") && !cache.contains("1.0.0"),
        "{cache}"
    );
    // A removed program is unavailable, although its version is cached.
    std::fs::remove_file(&bin).unwrap();
    let result = cli::probe(&cursor::PROFILE, &context, &config).await;
    assert!(
        matches!(result, Err(Error::Unavailable { .. })),
        "{result:?}"
    );
}
