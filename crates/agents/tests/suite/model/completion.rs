//! Completions of conversations that the caller stores.

use futures::StreamExt;
use serde_json::{Value, json};
use windlass_wire::{
    Dialect, FunctionTool, Message, ModelRequest, ModelResponse, Part, Role, StopReason, ToolCall,
    ToolDefinition, ToolResult,
};

use super::harness::{Api, CannedServer, ModelFixture, RecordingClock, http, scripted};
use super::tools::TestTools;

fn request() -> ModelRequest {
    let mut request = ModelRequest::new("model-of-the-caller");
    request.origin = Some(Dialect::Chat);
    request
        .tools
        .push(ToolDefinition::Function(FunctionTool::new("look_up")));
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "look_up".to_owned(),
        input: "{}".to_owned(),
        ..ToolCall::default()
    };
    let result = ToolResult {
        call_id: "c1".to_owned(),
        name: "look_up".to_owned(),
        parts: vec![Part::text("it is 42")],
        ..ToolResult::default()
    };
    request.messages = vec![
        Message::new(Role::User, vec![Part::text("What is it?")]),
        Message::new(Role::Assistant, vec![Part::ToolCall(call)]),
        Message::new(Role::Tool, vec![Part::ToolResult(result)]),
    ];
    request
}

async fn answer(fixture: &ModelFixture, request: ModelRequest) -> ModelResponse {
    let events: Vec<_> = fixture.agent.answer(request).collect().await;
    ModelResponse::from_events(&events).unwrap()
}

#[tokio::test]
async fn caller_tools_are_called_but_not_run() {
    let native = json!([{ "call": { "name": "look_up", "arguments": { "at": "x" } } }]);
    let text = json!([{ "text": "```json\n{\"tool\": \"look_up\", \"arguments\": {\"at\": \"x\"}}\n```" }]);
    let schema =
        json!([{ "json": { "action": { "tool": "look_up", "arguments": { "at": "x" } } } }]);
    for (mode, parts) in [("auto", native), ("text", text), ("schema", schema)] {
        for api in Api::ALL {
            let turns = json!([{ "when": { "contains": "it is 42", "turn": 2 }, "answer": parts }]);
            let model = scripted(turns).await;
            let fixture = ModelFixture::new(api, &model.url(), json!({ "tool_mode": mode })).await;
            let response = answer(&fixture, request()).await;
            let calls: Vec<_> = response.calls().collect();
            assert_eq!(calls.len(), 1, "{mode} {api:?}: {}", model.report());
            assert_eq!(calls[0].name, "look_up");
            let input: Value = serde_json::from_str(&calls[0].input).unwrap();
            assert_eq!(input, json!({ "at": "x" }), "{mode} {api:?}");
            assert_eq!(
                response.stop_or_implied(),
                StopReason::ToolUse,
                "{mode} {api:?}"
            );
            assert!(response.usage.is_some(), "{mode} {api:?}");
            assert_eq!(
                model.requests()[0].model,
                "m",
                "the model is the configured one"
            );
        }
    }
}

#[tokio::test]
async fn p23_request_fields_cannot_redirect_the_request() {
    let server = CannedServer::start(vec![http("200 OK", "", "")]).await;
    let attacker = CannedServer::start(vec![http("200 OK", "", "")]).await;
    let fixture = ModelFixture::new(Api::Chat, server.url(), json!({})).await;
    let mut request = request();
    for key in [
        "api_base",
        "base_url",
        "endpoint",
        "headers",
        "extra_headers",
        "api_key",
        "command",
    ] {
        request.extra.insert(key.to_owned(), json!(attacker.url()));
    }
    request
        .extra
        .insert("reasoning_effort".to_owned(), json!("low"));
    let events: Vec<_> = fixture.agent.answer(request).collect().await;
    assert!(events.last().unwrap().is_terminal());
    assert!(attacker.seen().is_empty());
    let sent = &server.seen()[0];
    assert!(
        sent.contains("reasoning_effort") && !sent.contains(attacker.url()),
        "{sent}"
    );
}

#[tokio::test]
async fn plain_request_is_sent_as_a_plain_request() {
    for api in Api::ALL {
        for (wanted, setting) in [(true, true), (true, false), (false, true), (false, false)] {
            let server = CannedServer::start(vec![http("200 OK", "", "")]).await;
            let fixture = ModelFixture::new(api, server.url(), json!({ "stream": setting })).await;
            let mut request = request();
            request.stream = wanted;
            let events: Vec<_> = fixture.agent.answer(request).collect().await;
            assert!(events.last().unwrap().is_terminal());
            let sent = &server.seen()[0];
            let (_, body) = sent.split_once("\r\n\r\n").unwrap();
            let body: Value = serde_json::from_str(body).unwrap();
            let is_streamed = body["stream"].as_bool().unwrap_or(api == Api::Ollama);
            assert_eq!(is_streamed, wanted && setting, "{api:?}: {body}");
        }
    }
}

#[tokio::test]
async fn plain_request_waits_longer_than_a_stream() {
    for (wanted, setting, limit) in [
        (true, true, "5 s"),
        (false, true, "25 s"),
        (false, false, "5 s"),
    ] {
        let model = scripted(json!([{ "fault": "hang" }])).await;
        let extra = json!({ "stream": setting, "request_timeout_secs": 5 });
        let clock = RecordingClock::at(0);
        let fixture =
            ModelFixture::with(Api::Chat, &model.url(), extra, TestTools::default(), clock).await;
        let mut request = request();
        request.stream = wanted;
        let events: Vec<_> = fixture.agent.answer(request).collect().await;
        let error = format!("{:?}", events.last().unwrap());
        let expected = format!("no data from the model for {limit}");
        assert!(error.contains(&expected), "{wanted} {setting}: {error}");
    }
}
