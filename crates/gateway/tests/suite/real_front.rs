//! Real agents on both sides of the front: Codex and Claude Code as models, and with an agent as theirs.
//!
//! The SDKs are in `crates/windlass/tests/suite/real_sdk.rs`, on a real server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::Request;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::process::Command;
use windlass_gateway::Script;

use super::front_stage::{CANARY, Stage, TOKEN};
use super::world::World as Desk;

/// Processes that work in this folder.
fn processes(folder: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let here = |pid: &u32| {
        std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    };
    pids.filter(here).collect()
}

async fn stage() -> Stage {
    Stage::new(Desk::script("sdk.json")).await
}

/// A real agent whose model is the front, and behind it a model agent on a script: the tools are the agent's.
async fn works(desk: Desk, stage: Stage, command: Command) {
    let ended = desk.run(command).await;
    let report = stage.upstream.report();
    let story = format!("{}\n{report}", ended.story);
    let read = |name: &str| {
        let text = std::fs::read_to_string(desk.work().join(name));
        text.unwrap_or_else(|error| panic!("{name}: {error}\n{story}"))
    };
    assert_eq!(
        read("notes.txt"),
        "one\n2 (it's \"two\")\nthree\n",
        "{story}"
    );
    assert!(read("both.txt").contains("third, with 'quotes'"), "{story}");
    assert!(ended.stdout.contains("All done."), "{story}");
    assert!(report.is_clean(), "{story}");
    let kept = stage.traces.0.borrow().len();
    assert!(kept >= 5, "{kept} traces\n{story}");
}

async fn desk() -> Desk {
    let script = Script::parse(r#"{"turns": [{"fault": "hang"}]}"#, "none").unwrap();
    Desk::new(script, &[("notes.txt", "one\ntwo\nthree\n")]).await
}

const PROMPT: &str = "Change the notes as agreed";

#[tokio::test]
async fn codex_with_an_agent_as_its_model() {
    let (desk, stage) = (desk().await, Stage::new(Desk::script("edit.json")).await);
    let mut command = desk.codex_on(&stage.url, "gpt-5.5");
    command.env("KEY", TOKEN).arg(PROMPT);
    works(desk, stage, command).await;
}

#[tokio::test]
async fn claude_code_with_an_agent_as_its_model() {
    let (desk, stage) = (desk().await, Stage::new(Desk::script("edit.json")).await);
    let mut command = desk.claude();
    command
        .env("ANTHROPIC_API_KEY", TOKEN)
        .env("ANTHROPIC_BASE_URL", &stage.url)
        .env("ANTHROPIC_MODEL", "claude-coder")
        .env("ANTHROPIC_SMALL_FAST_MODEL", "claude-coder")
        .env("ANTHROPIC_DEFAULT_HAIKU_MODEL", "claude-coder")
        .args(["--permission-mode", "acceptEdits", "--allowedTools", "Bash"])
        .args(["--", PROMPT]);
    works(desk, stage, command).await;
}

/// The real programs as models: one answer, and nothing left of it.
#[tokio::test]
async fn p5_real_agents_as_models_leave_nothing_behind() {
    let stage = stage().await;
    for model in ["codex", "claude"] {
        for stream in [false, true] {
            let url = format!("{}/v1/chat/completions", stage.url);
            let token = format!("authorization: Bearer {TOKEN}");
            let body = json!({
                "model": model, "stream": stream,
                "messages": [{ "role": "user", "content": "plain" }],
            });
            let extra = ["-H", &token, "--max-time", "120"];
            let seen = super::curl::curl(&url, Some(&body), &extra).await;
            assert_eq!(seen.status, 200, "{seen:?}");
            assert!(seen.body.contains("Hello from the script"), "{seen:?}");
        }
    }
    assert_eq!(stage.settled().await, Vec::<PathBuf>::new());
    assert_eq!(processes(stage.folder.path()), Vec::<u32>::new());
    let kept = stage.traces.0.borrow();
    let names: Vec<_> = kept.iter().map(|(_, root)| root.agent.clone()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(
        kept.iter()
            .all(|(_, root)| root.usage.is_some() && root.error.is_none())
    );
}

/// Somebody who waits for a key.
async fn capture() -> (String, Arc<std::sync::Mutex<Vec<String>>>) {
    let caught = Arc::new(std::sync::Mutex::new(Vec::new()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::clone(&caught);
    let router = axum::Router::new().fallback(move |request: Request| {
        seen.lock().unwrap().push(format!("{request:?}"));
        std::future::ready("{}")
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, caught)
}

#[tokio::test]
async fn p23_no_request_takes_a_key_elsewhere() {
    let stage = stage().await;
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
    let url = format!("{}/v1/chat/completions", stage.url);
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
                let seen =
                    super::curl::curl(&url, Some(&body), &["-H", &token, "-H", &header]).await;
                assert!(matches!(seen.status, 200 | 400), "{seen:?}");
                assert!(!format!("{seen:?}").contains(CANARY), "{seen:?}");
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
        let seen = super::curl::curl(&url, Some(&body), &["-H", &token]).await;
        assert_eq!(seen.status, 404, "{seen:?}");
    }
    assert_eq!(*caught.lock().unwrap(), Vec::<String>::new());
    assert!(stage.upstream.report().requests > 0);
    let traces = format!("{:?}", stage.traces.0.borrow());
    assert!(!traces.contains(CANARY));
}
