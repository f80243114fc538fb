//! Requests that the agent API rejects, and errors of the agents.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_core::ErrorCode;
use windlass_gateway::{AgentApiLimits, error_response};
use windlass_wire::{Dialect, ErrorKind, ModelError, ModelEvent, StreamDecoder};

use super::agent_api_harness::ApiHarness;
use super::curl::{CurlResponse, curl};

#[track_caller]
fn check_error(received: &CurlResponse, status: u16, expected: &str) -> Value {
    assert_eq!(received.status, status, "{received:?}");
    assert!(received.body.contains(expected), "{expected}: {received:?}");
    received.json()
}

#[tokio::test]
async fn errors_have_the_status_and_format_of_their_endpoint() {
    let harness = ApiHarness::new().await;
    for (prompt, status, expected) in [
        ("slow down", 429, "asked to wait 7 s"),
        ("time out", 408, "too long"),
        ("no key", 401, "sign in"),
        ("break", 502, "broke"),
    ] {
        let received = harness.chat("echo", prompt, json!({})).await;
        let error = check_error(&received, status, expected);
        assert!(error["error"]["message"].is_string(), "{error}");
        assert!(received.headers.contains("x-windlass-trace: "));
        if status == 429 {
            assert!(received.headers.contains("retry-after: 7"), "{received:?}");
        }
        let messages = json!([{ "role": "user", "content": prompt }]);
        let body = json!({ "model": "echo", "max_tokens": 9, "messages": messages });
        let received = harness.post("/v1/messages", &body).await;
        let error = check_error(&received, status, expected);
        assert_eq!(error["type"], "error");
        let body = json!({ "model": "echo", "stream": false, "messages": messages });
        let error = check_error(&harness.post("/api/chat", &body).await, status, expected);
        assert!(error["error"].is_string(), "{error}");
    }
    let traces = harness.traces(12).await;
    let code = |at: usize| traces[at].1.error.as_ref().unwrap().code;
    assert_eq!(code(0), ErrorCode::RateLimited);
    assert_eq!(code(3), ErrorCode::Timeout);
    assert_eq!(code(6), ErrorCode::AuthFailed);
}

#[tokio::test]
async fn unknown_endpoint_error_lists_the_endpoints() {
    let harness = ApiHarness::new().await;
    for path in [
        "/v1/images/generations",
        "/v1/audio/speech",
        "/v1/nothing/here",
    ] {
        let received = harness.post(path, &json!({})).await;
        let error = check_error(&received, 404, "POST /v1/chat/completions");
        assert_eq!(error["error"]["code"], "unknown_endpoint", "{error}");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("unknown endpoint {path}: ")));
    }
    let received = harness.get("/api/generate").await;
    let error = check_error(&received, 404, "POST /api/chat");
    assert!(error["error"].is_string(), "{error}");
    let received = harness.post("/v1/messages/batches", &json!({})).await;
    let error = check_error(&received, 404, "POST /v1/messages,");
    assert_eq!(error["error"]["type"], "not_found_error", "{error}");
}

/// An agent has no embeddings, and neither has a model whose server has none; no field is ignored.
#[tokio::test]
async fn embeddings_of_an_agent_are_refused() {
    let harness = ApiHarness::new().await;
    for (body, status, expected) in [
        (
            json!({ "model": "echo", "input": "a" }),
            404,
            "echo has no embeddings",
        ),
        (
            json!({ "model": "ecko", "input": "a" }),
            404,
            "did you mean echo?",
        ),
        (json!({ "model": "echo" }), 400, "input is missing"),
        (json!({ "input": "a" }), 400, "model is missing"),
        (
            json!({ "model": "echo", "input": "a", "api_base": "http://evil" }),
            400,
            "api_base",
        ),
    ] {
        let received = harness.post("/v1/embeddings", &body).await;
        check_error(&received, status, expected);
    }
}

#[tokio::test]
async fn unknown_model_error_suggests_the_closest_name() {
    let harness = ApiHarness::new().await;
    let received = harness.chat("ecko", "hi", json!({})).await;
    let error = check_error(&received, 404, "did you mean echo?");
    assert_eq!(error["error"]["code"], "model_not_found");
    check_error(
        &harness.chat("broken", "hi", json!({})).await,
        503,
        "not installed",
    );
    for name in ["../x", "--help", ""] {
        assert_eq!(
            harness.chat(name, "hi", json!({})).await.status,
            404,
            "{name}"
        );
    }
}

#[tokio::test]
async fn unsupported_requests_are_rejected_before_the_agent_is_called() {
    let harness = ApiHarness::new().await;
    let tools =
        json!([{ "type": "function", "function": { "name": "weather", "parameters": {} } }]);
    let received = harness.chat("echo", "hi", json!({ "tools": tools })).await;
    check_error(&received, 400, "cannot call the tool weather");
    check_error(
        &harness.chat("echo", "hi", json!({ "n": 2 })).await,
        400,
        "`n` must be 1",
    );
    let received = harness
        .chat("echo", "hi", json!({ "max_tokens": -1 }))
        .await;
    check_error(&received, 400, "max_tokens");
    let received = harness.chat("echo", "hi\u{0}", json!({})).await;
    check_error(&received, 400, "NUL");
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let received = harness
        .chat("echo", "hi", json!({ "metadata": deep }))
        .await;
    check_error(&received, 400, "nested");
    let url = format!("{}/v1/chat/completions", harness.url);
    let received = curl(&url, Some(&json!({})), &["-H", "content-encoding: gzip"]).await;
    check_error(&received, 400, "content-encoding");
    check_error(
        &harness.get("/v1/chat/completions").await,
        405,
        "method GET is not allowed",
    );
    assert_eq!(harness.echo.prompts.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn p23_forbidden_fields_of_a_request_are_rejected() {
    let harness = ApiHarness::new().await;
    for field in [
        "api_base",
        "extra_headers",
        "command",
        "api_key",
        "base_url",
    ] {
        let received = harness.chat("echo", "hi", json!({ field: "x" })).await;
        check_error(&received, 400, field);
        let body = json!({ "model": "echo", "max_tokens": 5, "messages": [{ "role": "user", "content": "hi" }], field: {} });
        check_error(&harness.post("/v1/messages", &body).await, 400, field);
        check_error(&harness.post("/api/chat", &body).await, 400, field);
        let body = json!({ "model": "echo", "input": "hi", field: "x" });
        check_error(&harness.post("/v1/responses", &body).await, 400, field);
    }
    assert_eq!(harness.echo.prompts.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn p12_body_size_is_limited() {
    let limits = AgentApiLimits {
        body_bytes: 1000,
        ..AgentApiLimits::default()
    };
    let harness = ApiHarness::with(Vec::new(), limits).await;
    let received = harness.chat("echo", &"x".repeat(2000), json!({})).await;
    check_error(&received, 413, "larger than 1000 bytes");
}

#[tokio::test]
async fn p12_concurrent_requests_are_limited() {
    let limits = AgentApiLimits {
        concurrent: 1,
        ..AgentApiLimits::default()
    };
    let harness = ApiHarness::with(Vec::new(), limits).await;
    let first = harness.chat("echo", "wait", json!({}));
    let second = async {
        harness.turns(1).await;
        harness.chat("echo", "hi", json!({})).await
    };
    let (first, second) = tokio::join!(first, second);
    check_error(&second, 429, "too many concurrent requests");
    assert!(second.headers.contains("retry-after: 1"), "{second:?}");
    // Curl gave up on the first request, so its turn was cancelled.
    assert_eq!(first.exit, 28);
    harness.turns(0).await;
    harness.traces(1).await;
    assert_eq!(harness.chat("echo", "hi", json!({})).await.status, 200);
}

#[tokio::test]
async fn p11_error_inside_a_stream_is_reported_in_it() {
    let harness = ApiHarness::new().await;
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
        let received = harness.post(path, &body).await;
        assert_eq!(received.status, 200, "{received:?}");
        let mut decoder = StreamDecoder::new(dialect);
        let mut events = decoder.push(received.body.as_bytes());
        events.extend(decoder.finish());
        let Some(ModelEvent::Error(error)) = events.last() else {
            panic!("{dialect} {events:?}");
        };
        assert!(error.message.contains("echo: broke"), "{dialect} {error}");
        let has_text = events
            .iter()
            .any(|event| matches!(event, ModelEvent::TextDelta { text } if text == "half"));
        assert!(has_text, "{dialect} {events:?}");
    }
}

#[tokio::test]
async fn p5_client_disconnect_ends_the_turn() {
    let check = async |stream: bool| {
        let harness = ApiHarness::new().await;
        let more = json!({ "stream": stream });
        let (received, ()) = tokio::join!(harness.chat("echo", "wait", more), harness.turns(1));
        assert_eq!(received.exit, 28, "{received:?}");
        assert_eq!(received.body.contains("so far"), stream, "{received:?}");
        harness.turns(0).await;
        let traces = harness.traces(1).await;
        let error = traces[0].1.error.as_ref().unwrap();
        assert_eq!(error.code, ErrorCode::Cancelled);
        assert!(error.message.contains("499"), "{error:?}");
        assert!(harness.remaining_dirs().is_empty());
    };
    tokio::join!(check(false), check(true));
}

#[tokio::test]
async fn idle_stream_sends_keep_alives() {
    let limits = AgentApiLimits {
        hold: Duration::from_millis(10),
        quiet: Duration::from_millis(10),
        ..AgentApiLimits::default()
    };
    // The agent of a harness waits in one turn at a time.
    let first = ApiHarness::with(Vec::new(), limits).await;
    let second = ApiHarness::with(Vec::new(), limits).await;
    let body = json!({ "model": "echo", "messages": [{ "role": "user", "content": "wait" }] });
    let (chat, ollama) = tokio::join!(
        first.chat("echo", "wait", json!({ "stream": true })),
        second.post("/api/chat", &body),
    );
    assert!(chat.body.contains("\n\n: keep-alive\n\n"), "{chat:?}");
    let lines: Vec<&str> = ollama.body.lines().collect();
    let empty = lines
        .iter()
        .filter(|line| line.contains("\"content\":\"\""));
    assert!(empty.count() > 1, "{ollama:?}");
    for line in lines {
        serde_json::from_str::<Value>(line).unwrap();
    }
}

#[tokio::test]
async fn p7_close_leaves_nothing_behind() {
    let harness = ApiHarness::new().await;
    let closing = async {
        harness.turns(1).await;
        harness.api.close().await;
    };
    let (received, ()) = tokio::join!(harness.chat("echo", "wait", json!({})), closing);
    check_error(&received, 503, "the server is shutting down");
    assert_eq!(harness.api.active_requests(), 0);
    assert!(harness.remaining_dirs().is_empty());
}

#[tokio::test]
async fn rejections_are_rendered_in_every_dialect() {
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
