//! Agents as models, on every surface.

use std::sync::{Arc, Mutex};

use serde_json::json;
use windlass_core::{AgentHandle, PermissionPolicy};
use windlass_gateway::{AgentApiLimits, ServedModel};
use windlass_wire::{
    Dialect, ModelEvent, ModelResponse, StopReason, StreamDecoder, TokenUsage, ToolInputKind,
};

use super::curl::Seen;
use super::front_world::{Book, Echo, World};

const SURFACES: [Dialect; 4] = [
    Dialect::Chat,
    Dialect::Responses,
    Dialect::Messages,
    Dialect::Ollama,
];

/// The same question on a surface.
async fn ask(world: &World, dialect: Dialect, model: &str, stream: bool) -> Seen {
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
    world.post(path, &body).await
}

#[track_caller]
fn read(dialect: Dialect, stream: bool, seen: &Seen) -> ModelResponse {
    assert_eq!(seen.status, 200, "{dialect} {seen:?}");
    let events = if stream {
        let mut reader = StreamDecoder::new(dialect);
        let mut events = reader.push(seen.body.as_bytes());
        events.extend(reader.finish());
        events
    } else {
        dialect.parse_response(seen.body.as_bytes()).unwrap()
    };
    ModelResponse::from_events(&events).unwrap()
}

#[tokio::test]
async fn a_conversation_is_one_transcript_on_every_surface() {
    let world = World::new().await;
    let told = "<<<ROLE:USER>>>\nHi\n\n<<<ROLE:ASSISTANT>>>\nHello\n\n<<<ROLE:USER>>>\nping";
    for dialect in SURFACES {
        for stream in [false, true] {
            let seen = ask(&world, dialect, "echo", stream).await;
            let response = read(dialect, stream, &seen);
            assert_eq!(response.text(), format!("[{told}]"), "{dialect}");
            assert_eq!(response.model, "echo");
            let usage = response.usage.unwrap();
            assert_eq!((usage.input_tokens, usage.output_tokens), (11, 7));
            assert!(seen.headers.contains("x-windlass-agent: echo"), "{seen:?}");
            let (_, after) = seen.headers.split_once("x-windlass-trace: ").unwrap();
            let id = after.lines().next().unwrap().trim();
            if dialect != Dialect::Ollama {
                assert!(response.id.ends_with(id), "{} {id}", response.id);
            }
        }
    }
    let traces = world.traces(8).await;
    for (id, root) in &traces {
        assert_eq!(id.len(), 32);
        assert_eq!(root.agent.as_deref(), Some("echo"));
        assert_eq!(root.total_usage().output_tokens, 7);
        assert_eq!(root.children.len(), 1);
        assert_eq!(root.error, None);
    }
    for (options, _) in world.echo.heard.lock().unwrap().iter() {
        assert!(options.read_only);
        assert!(options.once);
        assert!(
            options
                .cwd
                .as_ref()
                .unwrap()
                .starts_with(world.rooms.path())
        );
    }
    assert_eq!(world.folders(), Vec::<std::path::PathBuf>::new());
}

#[tokio::test]
async fn a_folder_that_is_named_is_worked_in_and_stays() {
    let folder = tempfile::TempDir::new().unwrap();
    let echo = Echo::default();
    let served = ServedModel {
        folder: Some(folder.path().to_owned()),
        may_write: true,
        model: Some("large".to_owned()),
        ..ServedModel::new("there", AgentHandle::wrap(echo.clone()))
    };
    let world = World::with(vec![served], AgentApiLimits::default()).await;
    let seen = world.chat("there", "/clear", json!({})).await;
    assert_eq!(seen.status, 200, "{seen:?}");
    let heard = echo.heard.lock().unwrap();
    let (options, prompt) = &heard[0];
    assert_eq!(options.cwd.as_deref(), Some(folder.path()));
    assert_eq!(
        options.effective_permissions(None).0,
        PermissionPolicy::Allow
    );
    assert_eq!(options.model.as_deref(), Some("large"));
    assert_eq!(prompt, "<<<ROLE:USER>>>\n/clear");
    assert!(folder.path().exists());
}

fn book() -> (ServedModel, Arc<Mutex<Vec<windlass_wire::ModelRequest>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
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
        native: Some(Arc::new(Book(events, Arc::clone(&asked)))),
        ..ServedModel::new("native", AgentHandle::wrap(Echo::default()))
    };
    (served, asked)
}

#[tokio::test]
async fn messages_and_tools_go_through_as_they_are() {
    let (served, asked) = book();
    let world = World::with(vec![served], AgentApiLimits::default()).await;
    for dialect in SURFACES {
        for stream in [false, true] {
            let seen = ask(&world, dialect, "native", stream).await;
            let response = read(dialect, stream, &seen);
            assert_eq!(response.text(), "Let me see.");
            let call = response.calls().next().unwrap();
            assert_eq!(call.name, "weather");
            assert_eq!(call.input_object(), json!({ "city": "Brno" }));
            assert_eq!(response.model, "native");
        }
    }
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 8);
    assert!(asked.iter().all(|request| request.messages.len() == 3));
    let traces = world.traces(8).await;
    assert_eq!(traces[0].1.total_usage().output_tokens, 3);
}

#[tokio::test]
async fn an_answer_is_made_to_fit_its_schema() {
    let world = World::new().await;
    let schema = json!({ "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } });
    let format = json!({ "response_format": {
        "type": "json_schema", "json_schema": { "name": "thing", "schema": schema },
    }});
    for stream in [false, true] {
        let mut more = format.clone();
        more["stream"] = stream.into();
        let seen = world.chat("echo", "a thing", more).await;
        let response = read(Dialect::Chat, stream, &seen);
        assert_eq!(response.text(), "{\"name\":\"rope\"}");
    }
    let heard = world.echo.heard.lock().unwrap().clone();
    assert_eq!(heard.len(), 4);
    let again = &heard[1].1;
    assert!(
        again.starts_with("<<<ROLE:USER>>>\na thing\n\n<<<ROLE:ASSISTANT>>>\ncertainly"),
        "{again}"
    );
    let traces = world.traces(2).await;
    assert_eq!(traces[0].1.children.len(), 2);
    assert_eq!(traces[0].1.total_usage().input_tokens, 22);

    let never = json!({ "response_format": { "type": "json_schema", "json_schema": {
        "name": "thing", "schema": { "type": "object", "required": ["other"] },
    }}});
    let seen = world.chat("echo", "a thing", never).await;
    assert_eq!(seen.status, 502, "{seen:?}");
    assert!(seen.body.contains("does not fit the schema"), "{seen:?}");
    assert!(seen.body.contains("other"), "{seen:?}");
}

#[tokio::test]
async fn everybody_is_listed() {
    let (served, _) = book();
    let world = World::with(vec![served], AgentApiLimits::default()).await;
    let models = world.get("/v1/models").await.json();
    assert_eq!(models["data"][0]["id"], "echo");
    assert_eq!(models["data"][1]["id"], "native");
    assert_eq!(models["has_more"], false);
    let tags = world.get("/api/tags").await.json();
    assert_eq!(tags["models"][0]["name"], "echo");
    let model = world.get("/v1/models/native").await;
    assert_eq!(model.json()["display_name"], "native");
    let missing = world.get("/v1/models/no/such").await;
    assert_eq!(missing.status, 404);
    assert_eq!(world.get("/api/version").await.status, 200);
    let shown = world.post("/api/show", &json!({ "model": "native" })).await;
    assert_eq!(shown.json()["capabilities"][1], "tools");
    let body = json!({ "model": "echo", "messages": [{ "role": "user", "content": "hi" }] });
    let count = world.post("/v1/messages/count_tokens", &body).await;
    assert!(count.json()["input_tokens"].as_u64().unwrap() > 5);
    let tagged = world
        .post(
            "/api/chat",
            &json!({ "model": "echo:latest", "stream": false, "messages": [{ "role": "user", "content": "hi" }] }),
        )
        .await;
    assert_eq!(tagged.json()["message"]["content"], "[hi]", "{tagged:?}");
}
