//! Everything that the front refuses, and everything that goes wrong behind it.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_core::ErrorCode;
use windlass_gateway::{AgentApiLimits, error_response};
use windlass_wire::{Dialect, ErrorKind, ModelError, ModelEvent, StreamDecoder};

use super::curl::{Seen, curl};
use super::front_world::World;

#[track_caller]
fn refused(seen: &Seen, status: u16, said: &str) -> Value {
    assert_eq!(seen.status, status, "{seen:?}");
    assert!(seen.body.contains(said), "{said}: {seen:?}");
    seen.json()
}

#[tokio::test]
async fn failures_have_the_status_and_the_form_of_their_surface() {
    let world = World::new().await;
    for (wish, status, said) in [
        ("slow down", 429, "asked to wait 7 s"),
        ("time out", 408, "too long"),
        ("no key", 503, "sign in"),
        ("break", 502, "broke"),
    ] {
        let seen = world.chat("echo", wish, json!({})).await;
        let error = refused(&seen, status, said);
        assert!(error["error"]["message"].is_string(), "{error}");
        assert!(seen.headers.contains("x-windlass-trace: "));
        if status == 429 {
            assert!(seen.headers.contains("retry-after: 7"), "{seen:?}");
        }
        let messages = json!([{ "role": "user", "content": wish }]);
        let body = json!({ "model": "echo", "max_tokens": 9, "messages": messages });
        let seen = world.post("/v1/messages", &body).await;
        let expected = if status == 503 { 529 } else { status };
        let error = refused(&seen, expected, said);
        assert_eq!(error["type"], "error");
        let body = json!({ "model": "echo", "stream": false, "messages": messages });
        let error = refused(&world.post("/api/chat", &body).await, status, said);
        assert!(error["error"].is_string(), "{error}");
    }
    let traces = world.traces(12).await;
    let code = |at: usize| traces[at].1.error.as_ref().unwrap().code;
    assert_eq!(code(0), ErrorCode::RateLimited);
    assert_eq!(code(3), ErrorCode::Timeout);
}

#[tokio::test]
async fn who_is_not_there_is_named_with_whoever_is_like_it() {
    let world = World::new().await;
    let seen = world.chat("ecko", "hi", json!({})).await;
    let error = refused(&seen, 404, "did you mean echo?");
    assert_eq!(error["error"]["code"], "model_not_found");
    refused(
        &world.chat("broken", "hi", json!({})).await,
        503,
        "not installed",
    );
    for name in ["../x", "--help", ""] {
        assert_eq!(
            world.chat(name, "hi", json!({})).await.status,
            404,
            "{name}"
        );
    }
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_before_anybody_is_asked() {
    let world = World::new().await;
    let tools =
        json!([{ "type": "function", "function": { "name": "weather", "parameters": {} } }]);
    let seen = world.chat("echo", "hi", json!({ "tools": tools })).await;
    refused(&seen, 400, "cannot take the tool weather");
    refused(
        &world.chat("echo", "hi", json!({ "n": 2 })).await,
        400,
        "`n` must be 1",
    );
    let seen = world.chat("echo", "hi", json!({ "max_tokens": -1 })).await;
    refused(&seen, 400, "max_tokens");
    let seen = world.chat("echo", "hi\u{0}", json!({})).await;
    refused(&seen, 400, "NUL");
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let seen = world.chat("echo", "hi", json!({ "metadata": deep })).await;
    refused(&seen, 400, "nested");
    let url = format!("{}/v1/chat/completions", world.url);
    let seen = curl(&url, Some(&json!({})), &["-H", "content-encoding: gzip"]).await;
    refused(&seen, 400, "content-encoding");
    refused(
        &world.get("/v1/chat/completions").await,
        405,
        "GET is not for",
    );
    assert_eq!(world.echo.heard.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn p23_no_field_of_a_request_is_obeyed() {
    let world = World::new().await;
    for field in [
        "api_base",
        "extra_headers",
        "command",
        "api_key",
        "base_url",
    ] {
        let seen = world.chat("echo", "hi", json!({ field: "x" })).await;
        refused(&seen, 400, field);
        let body = json!({ "model": "echo", "max_tokens": 5, "messages": [{ "role": "user", "content": "hi" }], field: {} });
        refused(&world.post("/v1/messages", &body).await, 400, field);
        refused(&world.post("/api/chat", &body).await, 400, field);
        let body = json!({ "model": "echo", "input": "hi", field: "x" });
        refused(&world.post("/v1/responses", &body).await, 400, field);
    }
    assert_eq!(world.echo.heard.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn p12_a_body_has_a_limit() {
    let limits = AgentApiLimits {
        body_bytes: 1000,
        ..AgentApiLimits::default()
    };
    let world = World::with(Vec::new(), limits).await;
    let seen = world.chat("echo", &"x".repeat(2000), json!({})).await;
    refused(&seen, 413, "more than 1000 bytes");
}

#[tokio::test]
async fn p12_no_more_at_once_than_there_is_room_for() {
    let limits = AgentApiLimits {
        concurrent: 1,
        ..AgentApiLimits::default()
    };
    let world = World::with(Vec::new(), limits).await;
    let first = world.chat("echo", "wait", json!({}));
    let second = async {
        world.turns(1).await;
        world.chat("echo", "hi", json!({})).await
    };
    let (first, second) = tokio::join!(first, second);
    refused(&second, 429, "no more at once");
    assert!(second.headers.contains("retry-after: 1"), "{second:?}");
    // Curl gave up on the first, and its turn with it.
    assert_eq!(first.exit, 28);
    world.turns(0).await;
    world.traces(1).await;
    assert_eq!(world.chat("echo", "hi", json!({})).await.status, 200);
}

#[tokio::test]
async fn p11_a_failure_inside_a_stream_is_told_in_it() {
    let world = World::new().await;
    for (dialect, path, body) in [
        (
            Dialect::Chat,
            "/v1/chat/completions",
            json!({ "messages": [{ "role": "user", "content": "break" }] }),
        ),
        (
            Dialect::Responses,
            "/v1/responses",
            json!({ "input": "break" }),
        ),
        (
            Dialect::Messages,
            "/v1/messages",
            json!({ "max_tokens": 9, "messages": [{ "role": "user", "content": "break" }] }),
        ),
        (
            Dialect::Ollama,
            "/api/chat",
            json!({ "messages": [{ "role": "user", "content": "break" }] }),
        ),
    ] {
        let mut body = body;
        body["model"] = "echo".into();
        body["stream"] = true.into();
        let seen = world.post(path, &body).await;
        assert_eq!(seen.status, 200, "{seen:?}");
        let mut reader = StreamDecoder::new(dialect);
        let mut events = reader.push(seen.body.as_bytes());
        events.extend(reader.finish());
        let Some(ModelEvent::Error(error)) = events.last() else {
            panic!("{dialect} {events:?}");
        };
        assert!(error.message.contains("echo: broke"), "{dialect} {error}");
        let begun = events
            .iter()
            .any(|event| matches!(event, ModelEvent::TextDelta { text } if text == "half"));
        assert!(begun, "{dialect} {events:?}");
    }
}

#[tokio::test]
async fn p5_a_client_that_goes_away_ends_the_turn() {
    for stream in [false, true] {
        let world = World::new().await;
        let more = json!({ "stream": stream });
        let (seen, ()) = tokio::join!(world.chat("echo", "wait", more), world.turns(1));
        assert_eq!(seen.exit, 28, "{seen:?}");
        assert_eq!(seen.body.contains("so far"), stream, "{seen:?}");
        world.turns(0).await;
        let traces = world.traces(1).await;
        let error = traces[0].1.error.as_ref().unwrap();
        assert_eq!(error.code, ErrorCode::Cancelled);
        assert!(error.message.contains("499"), "{error:?}");
        assert!(world.folders().is_empty());
    }
}

#[tokio::test]
async fn somebody_is_still_there() {
    let limits = AgentApiLimits {
        hold: Duration::from_millis(10),
        quiet: Duration::from_millis(10),
        ..AgentApiLimits::default()
    };
    let world = World::with(Vec::new(), limits).await;
    let seen = world.chat("echo", "wait", json!({ "stream": true })).await;
    assert!(seen.body.contains("\n\n: still there\n\n"), "{seen:?}");
    let body = json!({ "model": "echo", "messages": [{ "role": "user", "content": "wait" }] });
    let seen = world.post("/api/chat", &body).await;
    let empty = seen
        .body
        .lines()
        .filter(|line| line.contains("\"content\":\"\""));
    assert!(empty.count() > 1, "{seen:?}");
    for line in seen.body.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
}

#[tokio::test]
async fn p7_a_front_that_closes_leaves_nothing_behind() {
    let world = World::new().await;
    let closing = async {
        world.turns(1).await;
        world.front.close().await;
    };
    let (seen, ()) = tokio::join!(world.chat("echo", "wait", json!({})), closing);
    refused(&seen, 503, "the server stops");
    assert_eq!(world.front.active_requests(), 0);
    assert!(world.folders().is_empty());
}

#[tokio::test]
async fn a_guard_can_refuse_in_every_dialect() {
    let error = ModelError::new(ErrorKind::Authentication, "no token");
    for (path, pointer) in [
        ("/v1/chat/completions", "/error/message"),
        ("/v1/messages", "/error/message"),
        ("/v1/models", "/error/message"),
        ("/api/chat", "/error"),
    ] {
        let response = error_response(path, &error);
        assert_eq!(response.status(), 401, "{path}");
        let body = axum::body::to_bytes(response.into_body(), 4096)
            .await
            .unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body.pointer(pointer), Some(&json!("no token")), "{path}");
    }
}
