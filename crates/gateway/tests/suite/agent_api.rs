//! Agents as models, on every endpoint.

use std::sync::{Arc, Mutex};

use serde_json::json;
use windlass_core::{AgentHandle, PermissionPolicy};
use windlass_gateway::{AgentApiLimits, ServedModel};
use windlass_wire::{
    Dialect, ModelEvent, ModelResponse, StopReason, StreamDecoder, TokenUsage, ToolInputKind,
};

use super::agent_api_harness::{ApiHarness, Echo, FixedModel};
use super::curl::CurlResponse;

pub(crate) const ENDPOINTS: [Dialect; 4] = [
    Dialect::Chat,
    Dialect::Responses,
    Dialect::Messages,
    Dialect::Ollama,
];

/// Sends the same conversation to an endpoint.
async fn ask(harness: &ApiHarness, dialect: Dialect, model: &str, stream: bool) -> CurlResponse {
    let messages = json!([
        { "role": "user", "content": "Hi" },
        { "role": "assistant", "content": "Hello" },
        { "role": "user", "content": "ping" },
    ]);
    let (path, body) = match dialect {
        Dialect::Chat => (
            "/v1/chat/completions",
            json!({ "model": model, "stream": stream, "messages": messages, "stream_options": { "include_usage": true } }),
        ),
        Dialect::Responses => (
            "/v1/responses",
            json!({ "model": model, "stream": stream, "input": messages }),
        ),
        Dialect::Messages => (
            "/v1/messages",
            json!({ "model": model, "stream": stream, "max_tokens": 50, "messages": messages }),
        ),
        _ => (
            "/api/chat",
            json!({ "model": model, "stream": stream, "messages": messages }),
        ),
    };
    harness.post(path, &body).await
}

#[track_caller]
pub(crate) fn read(dialect: Dialect, stream: bool, received: &CurlResponse) -> ModelResponse {
    assert_eq!(received.status, 200, "{dialect} {received:?}");
    let events = if stream {
        let mut decoder = StreamDecoder::new(dialect);
        let mut events = decoder.push(received.body.as_bytes());
        events.extend(decoder.finish());
        events
    } else {
        dialect.parse_response(received.body.as_bytes()).unwrap()
    };
    ModelResponse::from_events(&events).unwrap()
}

#[tokio::test]
async fn conversation_is_one_transcript_on_every_endpoint() {
    let harness = ApiHarness::new().await;
    let transcript = "<<<ROLE:USER>>>\nHi\n\n<<<ROLE:ASSISTANT>>>\nHello\n\n<<<ROLE:USER>>>\nping";
    for dialect in ENDPOINTS {
        for stream in [false, true] {
            let received = ask(&harness, dialect, "echo", stream).await;
            let response = read(dialect, stream, &received);
            assert_eq!(response.text(), format!("[{transcript}]"), "{dialect}");
            assert_eq!(response.model, "echo");
            let usage = response.usage.unwrap();
            assert_eq!((usage.input_tokens, usage.output_tokens), (11, 7));
            assert!(
                received.headers.contains("x-windlass-agent: echo"),
                "{received:?}"
            );
            let (_, after) = received.headers.split_once("x-windlass-trace: ").unwrap();
            let id = after.lines().next().unwrap().trim();
            if dialect != Dialect::Ollama {
                assert!(response.id.ends_with(id), "{} {id}", response.id);
            }
        }
    }
    let traces = harness.traces(8).await;
    for (id, root) in &traces {
        assert_eq!(id.len(), 32);
        assert_eq!(root.agent.as_deref(), Some("echo"));
        assert_eq!(root.total_usage().output_tokens, 7);
        assert_eq!(root.children.len(), 1);
        assert_eq!(root.error, None);
    }
    for (options, _) in harness.echo.prompts.lock().unwrap().iter() {
        assert_eq!(options.access, windlass_core::DirAccess::ReadOnly);
        assert!(options.once);
        assert!(
            options
                .cwd
                .as_ref()
                .unwrap()
                .starts_with(harness.request_dirs.path())
        );
    }
    assert_eq!(harness.remaining_dirs(), Vec::<std::path::PathBuf>::new());
}

#[tokio::test]
async fn configured_folder_is_used_and_kept() {
    let dir = tempfile::TempDir::new().unwrap();
    let echo = Echo::default();
    let served = ServedModel {
        dir: Some(dir.path().to_owned()),
        may_write: true,
        model: Some("large".to_owned()),
        ..ServedModel::new("there", AgentHandle::wrap(echo.clone()))
    };
    let harness = ApiHarness::with(vec![served], AgentApiLimits::default()).await;
    let received = harness.chat("there", "/clear", json!({})).await;
    assert_eq!(received.status, 200, "{received:?}");
    let prompts = echo.prompts.lock().unwrap();
    let (options, prompt) = &prompts[0];
    assert_eq!(options.cwd.as_deref(), Some(dir.path()));
    assert_eq!(
        options.effective_permissions(None).0,
        PermissionPolicy::Allow
    );
    assert_eq!(options.model.as_deref(), Some("large"));
    assert_eq!(prompt, "<<<ROLE:USER>>>\n/clear");
    assert!(dir.path().exists());
}

fn fixed_model() -> (ServedModel, Arc<Mutex<Vec<windlass_wire::ModelRequest>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let events = vec![
        ModelEvent::Start {
            id: "theirs".to_owned(),
            model: "theirs".to_owned(),
        },
        ModelEvent::TextDelta {
            text: "Let me see.".to_owned(),
        },
        ModelEvent::ToolCallStart {
            index: 0,
            id: "call_1".to_owned(),
            name: "weather".to_owned(),
            kind: ToolInputKind::Function,
            signature: None,
        },
        ModelEvent::ToolCallDelta {
            index: 0,
            input: "{\"city\":\"Brno\"}".to_owned(),
        },
        ModelEvent::ToolCallEnd { index: 0 },
        ModelEvent::Usage(TokenUsage {
            input_tokens: 5,
            output_tokens: 3,
            ..TokenUsage::default()
        }),
        ModelEvent::Stop {
            reason: StopReason::ToolUse,
        },
        ModelEvent::Done,
    ];
    let served = ServedModel {
        native: Some(Arc::new(FixedModel(events, Arc::clone(&requests)))),
        ..ServedModel::new("native", AgentHandle::wrap(Echo::default()))
    };
    (served, requests)
}

#[tokio::test]
async fn messages_and_tools_are_forwarded_unchanged() {
    let (served, requests) = fixed_model();
    let harness = ApiHarness::with(vec![served], AgentApiLimits::default()).await;
    for dialect in ENDPOINTS {
        for stream in [false, true] {
            let received = ask(&harness, dialect, "native", stream).await;
            let response = read(dialect, stream, &received);
            assert_eq!(response.text(), "Let me see.");
            let call = response.calls().next().unwrap();
            assert_eq!(call.name, "weather");
            assert_eq!(call.input_object(), json!({ "city": "Brno" }));
            assert_eq!(response.model, "native");
        }
    }
    let requests = requests.lock().unwrap().clone();
    assert_eq!(requests.len(), 8);
    assert!(requests.iter().all(|request| request.messages.len() == 3));
    let traces = harness.traces(8).await;
    assert_eq!(traces[0].1.total_usage().output_tokens, 3);
}

#[tokio::test]
async fn answer_is_corrected_until_it_matches_the_schema() {
    let harness = ApiHarness::new().await;
    let schema = json!({ "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } });
    let format = json!({ "response_format": {
        "type": "json_schema", "json_schema": { "name": "thing", "schema": schema },
    }});
    for stream in [false, true] {
        let mut more = format.clone();
        more["stream"] = stream.into();
        let received = harness.chat("echo", "a thing", more).await;
        let response = read(Dialect::Chat, stream, &received);
        assert_eq!(response.text(), "{\"name\":\"rope\"}");
    }
    let prompts = harness.echo.prompts.lock().unwrap().clone();
    assert_eq!(prompts.len(), 4);
    let second = &prompts[1].1;
    assert!(
        second.starts_with("<<<ROLE:USER>>>\na thing\n\n<<<ROLE:ASSISTANT>>>\ncertainly"),
        "{second}"
    );
    let traces = harness.traces(2).await;
    assert_eq!(traces[0].1.children.len(), 2);
    assert_eq!(traces[0].1.total_usage().input_tokens, 22);

    let never = json!({ "response_format": { "type": "json_schema", "json_schema": {
        "name": "thing", "schema": { "type": "object", "required": ["other"] },
    }}});
    let received = harness.chat("echo", "a thing", never).await;
    assert_eq!(received.status, 502, "{received:?}");
    assert!(
        received.body.contains("does not match the schema"),
        "{received:?}"
    );
    assert!(received.body.contains("other"), "{received:?}");
}

#[tokio::test]
async fn all_models_are_listed() {
    let (served, _) = fixed_model();
    let harness = ApiHarness::with(vec![served], AgentApiLimits::default()).await;
    let models = harness.get("/v1/models").await.json();
    assert_eq!(models["data"][0]["id"], "echo");
    assert_eq!(models["data"][1]["id"], "native");
    assert_eq!(models["has_more"], false);
    let tags = harness.get("/api/tags").await.json();
    assert_eq!(tags["models"][0]["name"], "echo");
    let model = harness.get("/v1/models/native").await;
    assert_eq!(model.json()["display_name"], "native");
    let missing = harness.get("/v1/models/no/such").await;
    assert_eq!(missing.status, 404);
    assert_eq!(harness.get("/api/version").await.status, 200);
    let shown = harness
        .post("/api/show", &json!({ "model": "native" }))
        .await;
    assert_eq!(shown.json()["capabilities"][1], "tools");
    let body = json!({ "model": "echo", "messages": [{ "role": "user", "content": "hi" }] });
    let count = harness.post("/v1/messages/count_tokens", &body).await;
    assert!(count.json()["input_tokens"].as_u64().unwrap() > 5);
    let tagged = harness
        .post(
            "/api/chat",
            &json!({ "model": "echo:latest", "stream": false, "messages": [{ "role": "user", "content": "hi" }] }),
        )
        .await;
    assert_eq!(tagged.json()["message"]["content"], "[hi]", "{tagged:?}");
}
