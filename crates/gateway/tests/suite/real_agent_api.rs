//! Real agents with the agent API: Codex and Claude Code as models, and with an agent as their model.
//!
//! The SDK tests are in `crates/windlass/tests/suite/real_sdk.rs`, on a real server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::Request;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::process::Command;
use windlass_scripted::Script;

use super::agent_api_setup::{AgentApiSetup, CANARY, TOKEN};
use super::harness::Harness;

/// Returns the processes that work in this directory.
fn processes(dir: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let in_dir = |pid: &u32| {
        std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(dir))
    };
    pids.filter(in_dir).collect()
}

async fn setup() -> AgentApiSetup {
    AgentApiSetup::new(Harness::script("sdk.json")).await
}

/// Runs a real agent whose model is the agent API, with a model agent on a script behind it. The tools are
/// the agent's own.
async fn check_run(harness: Harness, setup: AgentApiSetup, command: Command) {
    let run = harness.run(command).await;
    let report = setup.upstream.report();
    let details = format!("{}\n{report}", run.details);
    let read = |name: &str| {
        let text = std::fs::read_to_string(harness.work().join(name));
        text.unwrap_or_else(|error| panic!("{name}: {error}\n{details}"))
    };
    assert_eq!(
        read("notes.txt"),
        "one\n2 (it's \"two\")\nthree\n",
        "{details}"
    );
    assert!(
        read("both.txt").contains("third, with 'quotes'"),
        "{details}"
    );
    assert!(run.stdout.contains("All done."), "{details}");
    assert!(report.is_clean(), "{details}");
    let traces = setup.traces.0.borrow().len();
    assert!(traces >= 5, "{traces} traces\n{details}");
}

async fn harness() -> Harness {
    let script = Script::parse(r#"{"turns": [{"fault": "hang"}]}"#, "none").unwrap();
    Harness::new(script, &[("notes.txt", "one\ntwo\nthree\n")]).await
}

const PROMPT: &str = "Change the notes as agreed";

#[tokio::test]
async fn codex_with_an_agent_as_its_model() {
    let (harness, setup) = (
        harness().await,
        AgentApiSetup::new(Harness::script("edit.json")).await,
    );
    let mut command = harness.codex_on(&setup.url, "gpt-5.5");
    command.env("KEY", TOKEN).arg(PROMPT);
    check_run(harness, setup, command).await;
}

#[tokio::test]
async fn claude_code_with_an_agent_as_its_model() {
    let (harness, setup) = (
        harness().await,
        AgentApiSetup::new(Harness::script("edit.json")).await,
    );
    let mut command = harness.claude();
    command
        .env("ANTHROPIC_API_KEY", TOKEN)
        .env("ANTHROPIC_BASE_URL", &setup.url)
        .env("ANTHROPIC_MODEL", "claude-coder")
        .env("ANTHROPIC_SMALL_FAST_MODEL", "claude-coder")
        .env("ANTHROPIC_DEFAULT_HAIKU_MODEL", "claude-coder")
        .args(["--permission-mode", "acceptEdits", "--allowedTools", "Bash"])
        .args(["--", PROMPT]);
    check_run(harness, setup, command).await;
}

/// Real programs as models: one response each, and no leftovers.
#[tokio::test]
async fn p5_real_agents_as_models_leave_nothing_behind() {
    let setup = setup().await;
    for model in ["codex", "claude"] {
        for stream in [false, true] {
            let url = format!("{}/v1/chat/completions", setup.url);
            let token = format!("authorization: Bearer {TOKEN}");
            let body = json!({
                "model": model, "stream": stream,
                "messages": [{ "role": "user", "content": "plain" }],
            });
            let extra = ["-H", &token, "--max-time", "120"];
            let received = super::curl::curl(&url, Some(&body), &extra).await;
            assert_eq!(received.status, 200, "{received:?}");
            assert!(
                received.body.contains("Hello from the script"),
                "{received:?}"
            );
        }
    }
    assert_eq!(setup.settled().await, Vec::<PathBuf>::new());
    assert_eq!(processes(setup.dir.path()), Vec::<u32>::new());
    let traces = setup.traces.0.borrow();
    let names: Vec<_> = traces.iter().map(|(_, root)| root.agent.clone()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(
        traces
            .iter()
            .all(|(_, root)| root.usage.is_some() && root.error.is_none())
    );
}

/// A server that records every request it gets.
async fn capture() -> (String, Arc<std::sync::Mutex<Vec<String>>>) {
    let caught = Arc::new(std::sync::Mutex::new(Vec::new()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::clone(&caught);
    let router = axum::Router::new().fallback(move |request: Request| {
        requests.lock().unwrap().push(format!("{request:?}"));
        std::future::ready("{}")
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, caught)
}

#[tokio::test]
async fn p23_no_request_sends_a_key_elsewhere() {
    let setup = setup().await;
    let (elsewhere, caught) = capture().await;
    let fields = [
        "api_base",
        "base_url",
        "endpoint",
        "api_key",
        "extra_headers",
        "headers",
        "extra_body",
        "command",
        "proxy",
        "fallbacks",
        "model_list",
        "litellm_params",
        "API-BASE",
        "unknown",
        "metadata",
        "user",
    ];
    let host = elsewhere.strip_prefix("http://").unwrap();
    let url = format!("{}/v1/chat/completions", setup.url);
    let headers = [
        "x-forwarded-host: HOST",
        "x-api-base: http://HOST",
        "openai-base-url: http://HOST",
        "host: HOST",
        "forwarded: host=HOST",
    ];
    for field in fields {
        for value in [
            json!(elsewhere),
            json!({ "url": elsewhere, "api_base": elsewhere }),
        ] {
            let body = json!({
                "model": "model", field: value,
                "messages": [{ "role": "user", "content": "plain", field: value }],
            });
            let token = format!("authorization: Bearer {TOKEN}");
            for header in headers {
                let header = header.replace("HOST", host);
                let received =
                    super::curl::curl(&url, Some(&body), &["-H", &token, "-H", &header]).await;
                assert!(matches!(received.status, 200 | 400), "{received:?}");
                assert!(!format!("{received:?}").contains(CANARY), "{received:?}");
            }
        }
    }
    for model in [
        format!("{elsewhere}/v1"),
        format!("openai/{elsewhere}"),
        "../model".to_owned(),
    ] {
        let body = json!({ "model": model, "messages": [{ "role": "user", "content": "plain" }] });
        let token = format!("authorization: Bearer {TOKEN}");
        let received = super::curl::curl(&url, Some(&body), &["-H", &token]).await;
        assert_eq!(received.status, 404, "{received:?}");
    }
    assert_eq!(*caught.lock().unwrap(), Vec::<String>::new());
    assert!(setup.upstream.report().requests > 0);
    let traces = format!("{:?}", setup.traces.0.borrow());
    assert!(!traces.contains(CANARY));
}
