//! Settings of ACP agents: templates, logins, commands that are no agents, and the time limit of the start.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_agents::acp;
use windlass_agents::program::Login;
use windlass_core::{AgentEvent, AgentHandle, Error, ErrorCode, SessionOptions};

use super::acp::bin_dir;
use super::harness::{Harness, KEY, turn};

async fn make(harness: &Harness, config: &Value) -> Result<AgentHandle, Error> {
    let context = harness.context(&[bin_dir()]).await;
    acp::factory(None, context)(config)
}

fn templates() -> Value {
    json!({
        "command": ["acp-peer", "env"],
        "writable": ["~/.peer"],
        "endpoint": "http://127.0.0.1:4000/v1",
        "model": "small",
        "api_key_env": "TEST_KEY",
        "extra_env": { "X_URL": "{endpoint}/v1", "X_MODEL": "{model}", "X_KEY": "{api_key}", "X_PLAIN": "{other}" },
    })
}

async fn variables(agent: &AgentHandle, options: SessionOptions) -> Value {
    let mut session = agent.new_session(options).await.unwrap();
    let events = turn(agent, &mut session, "X_URL X_MODEL X_KEY X_PLAIN HOME").await;
    match events.last().unwrap() {
        AgentEvent::Result { text, .. } => serde_json::from_str(text).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn templates_pass_endpoint_model_and_key_to_any_agent() {
    let harness = Harness::new();
    let agent = make(&harness, &templates()).await.unwrap();
    let options = SessionOptions::in_dir(harness.work());
    let seen = variables(&agent, options.clone()).await;
    assert_eq!(seen["X_URL"], "http://127.0.0.1:4000/v1");
    assert_eq!(seen["X_MODEL"], "small");
    assert_eq!(seen["X_KEY"], KEY);
    assert_eq!(seen["X_PLAIN"], "{other}");
    // Where such an agent keeps its state is not known, so its home is not moved.
    assert_eq!(seen["HOME"], harness.home().to_str().unwrap());
    let large = SessionOptions {
        model: Some("large".to_owned()),
        ..options
    };
    assert_eq!(variables(&agent, large).await["X_MODEL"], "large");
}

#[tokio::test]
async fn template_without_a_value_is_an_error() {
    let harness = Harness::new();
    for (removed, variable) in [
        ("model", "X_MODEL"),
        ("api_key_env", "X_KEY"),
        ("endpoint", "X_URL"),
    ] {
        let mut config = templates();
        config.as_object_mut().unwrap().remove(removed);
        let agent = make(&harness, &config).await.unwrap();
        let options = SessionOptions::in_dir(harness.work());
        let error = agent.new_session(options).await.unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("extra_env.{variable}: ")),
            "{error}"
        );
        assert!(error.ends_with(&format!("set {removed}")), "{error}");
    }
    let mut config = templates();
    config["extra_env"] = json!({});
    let error = make(&harness, &config).await.unwrap_err().to_string();
    assert!(error.contains("{endpoint}/v1"), "{error}");
}

#[tokio::test]
async fn command_that_is_no_agent_is_named() {
    let harness = Harness::new();
    let agent = make(&harness, &json!({ "command": ["cat"] }))
        .await
        .unwrap();
    let options = SessionOptions::in_dir(harness.work());
    let error = agent.new_session(options.clone()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cat is not available: it does not speak ACP: check `command` and its arguments"
    );
    let agent = make(&harness, &json!({ "command": ["false"] }))
        .await
        .unwrap();
    let error = agent.new_session(options).await.unwrap_err().to_string();
    assert!(error.starts_with("false ended with exit code 1"), "{error}");
}

#[tokio::test]
async fn p5_time_limit_counts_the_start() {
    let harness = Harness::new();
    let config = json!({ "command": ["sleep", "1000"], "timeout_secs": 2 });
    let agent = make(&harness, &config).await.unwrap();
    assert_eq!(agent.limits().open, Duration::from_secs(2));
    let options = SessionOptions::in_dir(harness.work());
    let error = agent.new_session(options).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Timeout, "{error}");
    drop(agent);
    assert!(harness.wait_for_exit().await, "{:?}", harness.processes());
}

/// Returns the login of a preset's agent, whose program is a fake.
async fn login(harness: &Harness, preset: &str, config: Value) -> Login {
    let context = harness.context(&[bin_dir()]).await;
    let mut config = config;
    config["command"] = json!(["acp-peer", "plain"]);
    let found = acp::probe(acp::preset(preset), &context, &config).await;
    found.unwrap().login
}

#[tokio::test]
async fn login_is_found_without_starting_the_agent() {
    let harness = Harness::new();
    let home = harness.home();
    let write = |path: &str, text: &str| -> PathBuf {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    };
    let hint = |login: &Login| login.hint().map(str::to_owned);
    let none = login(&harness, "codex-acp", json!({})).await;
    assert_eq!(hint(&none).as_deref(), Some("run `codex login`"));
    assert_eq!(none.to_string(), "no login found: run `codex login`");
    let auth = write(".codex/auth.json", "{}");
    assert_eq!(
        login(&harness, "codex-acp", json!({})).await,
        Login::Stored(auth)
    );
    // An empty list of accounts is no login.
    write(".copilot/config.json", r#"{"logged_in_users": []}"#);
    assert!(hint(&login(&harness, "copilot", json!({})).await).is_some());
    let config = write(
        ".copilot/config.json",
        r#"{"logged_in_users": [{"login": "me"}]}"#,
    );
    assert_eq!(
        login(&harness, "copilot", json!({})).await,
        Login::Stored(config)
    );
    let key = json!({ "extra_env": { "MISTRAL_API_KEY": "k" } });
    assert_eq!(
        login(&harness, "vibe", key).await,
        Login::Key("MISTRAL_API_KEY".to_owned())
    );
    let endpoint = json!({ "endpoint": "http://127.0.0.1:9" });
    assert_eq!(login(&harness, "kimi", endpoint).await, Login::Endpoint);
}
