//! Tools of a client for an agent that accepts only text.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Capabilities, EventStream, Prompt, Result, SessionId,
    SessionOptions, ready_events,
};
use windlass_gateway::{AgentApiLimits, ServedModel};
use windlass_wire::{
    Dialect, FunctionTool, Message, ModelRequest, ModelResponse, Part, Role, StopReason,
    ToolChoice, ToolDefinition, ToolResult,
};

use super::agent_api::{ENDPOINTS, read};
use super::agent_api_harness::ApiHarness;

/// An agent that asks for the weather, and answers when it has the result.
#[derive(Clone, Default)]
struct Caller {
    prompts: Arc<Mutex<Vec<String>>>,
}

impl AgentBackend for Caller {
    fn name(&self) -> &'static str {
        "caller"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn new_session(&self, _: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(async { Ok(SessionId::from("s".to_owned())) })
    }

    fn load_session<'a>(
        &'a self,
        _: &'a SessionId,
        _: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn prompt<'a>(
        &'a self,
        _: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        let answer = answer(&prompt.text);
        self.prompts.lock().unwrap().push(prompt.text);
        Box::pin(async move { Ok(ready_events([AgentEvent::result(answer)])) })
    }

    fn cancel<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

fn answer(prompt: &str) -> String {
    let call =
        |city: Value| json!({ "action": { "tool": "weather", "arguments": { "city": city } } });
    if prompt.contains("always badly") {
        return "Let me see.".to_owned();
    }
    if prompt.contains("was not accepted") {
        return call("Brno".into()).to_string();
    }
    if prompt.contains("once badly") {
        return call(5.into()).to_string();
    }
    if prompt.contains("Result of `weather`:\nsunny") {
        return json!({ "action": { "tool": "done", "answer": "It is sunny." } }).to_string();
    }
    // Agents like to add a code fence.
    format!("```json\n{}\n```", call("Brno".into()))
}

fn request(text: &str) -> ModelRequest {
    let mut tool = FunctionTool::new("weather");
    tool.description = Some("The weather of a city.".to_owned());
    tool.schema = json!({
        "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"],
    });
    ModelRequest {
        messages: vec![Message::new(Role::User, vec![Part::text(text)])],
        tools: vec![ToolDefinition::Function(tool)],
        max_tokens: Some(100),
        ..ModelRequest::new("talker")
    }
}

async fn harness() -> (ApiHarness, Caller) {
    let caller = Caller::default();
    let served = |name, transcript_tools| ServedModel {
        transcript_tools,
        ..ServedModel::new(name, AgentHandle::wrap(caller.clone()))
    };
    let models = vec![served("talker", true), served("strict", false)];
    let harness = ApiHarness::with(models, AgentApiLimits::default()).await;
    (harness, caller)
}

fn path(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Chat => "/v1/chat/completions",
        Dialect::Responses => "/v1/responses",
        Dialect::Messages => "/v1/messages",
        _ => "/api/chat",
    }
}

async fn send(
    harness: &ApiHarness,
    dialect: Dialect,
    request: &ModelRequest,
) -> super::curl::CurlResponse {
    let body = serde_json::from_slice(&dialect.render_request(request)).unwrap();
    harness.post(path(dialect), &body).await
}

async fn ask(harness: &ApiHarness, dialect: Dialect, request: &ModelRequest) -> ModelResponse {
    let received = send(harness, dialect, request).await;
    read(dialect, request.stream, &received)
}

#[tokio::test]
async fn agent_calls_the_tools_of_a_client_on_every_endpoint() {
    let (harness, caller) = harness().await;
    for dialect in ENDPOINTS {
        for stream in [false, true] {
            let mut request = request("How is the weather?");
            request.stream = stream;
            let response = ask(&harness, dialect, &request).await;
            let [Part::ToolCall(call)] = &response.parts[..] else {
                panic!("{dialect}: {response:?}");
            };
            assert_eq!(call.name, "weather", "{dialect}");
            assert_eq!(call.input, r#"{"city":"Brno"}"#, "{dialect}");
            assert_eq!(response.stop, Some(StopReason::ToolUse), "{dialect}");

            let result = ToolResult {
                call_id: call.id.clone(),
                name: call.name.clone(),
                parts: vec![Part::text("sunny")],
                ..ToolResult::default()
            };
            let parts = response.parts.clone();
            request.messages.push(Message::new(Role::Assistant, parts));
            let result = Part::ToolResult(result);
            request
                .messages
                .push(Message::new(Role::Tool, vec![result]));
            let response = ask(&harness, dialect, &request).await;
            assert_eq!(response.text(), "It is sunny.", "{dialect}");
            assert_eq!(response.stop_or_implied(), StopReason::EndTurn, "{dialect}");
        }
    }
    let prompts = caller.prompts.lock().unwrap();
    assert_eq!(prompts.len(), 16);
    for prompt in prompts.iter() {
        assert!(prompt.starts_with("<<<ROLE:SYSTEM>>>\n"), "{prompt}");
        assert!(
            prompt.contains("- `weather`: The weather of a city."),
            "{prompt}"
        );
    }
    let with_result = &prompts[1];
    assert!(
        with_result.ends_with(
            "<<<ROLE:ASSISTANT>>>\n{\"action\":{\"tool\":\"weather\",\"arguments\":{\"city\":\"Brno\"}}}\n\n\
             <<<ROLE:USER>>>\nResult of `weather`:\nsunny"
        ),
        "{with_result}"
    );
}

#[tokio::test]
async fn arguments_are_checked_and_unusable_answers_are_an_error() {
    let (harness, caller) = harness().await;
    let response = ask(&harness, Dialect::Chat, &request("once badly")).await;
    let [Part::ToolCall(call)] = &response.parts[..] else {
        panic!("{response:?}");
    };
    assert_eq!(call.input, r#"{"city":"Brno"}"#);
    let corrected = caller.prompts.lock().unwrap().last().cloned().unwrap();
    assert!(corrected.contains("city"), "{corrected}");

    let received = send(&harness, Dialect::Chat, &request("always badly")).await;
    assert_eq!(received.status, 502, "{received:?}");
}

#[tokio::test]
async fn tools_are_refused_unless_the_model_is_set_to_transcript() {
    let (harness, caller) = harness().await;
    let mut refused = request("How is the weather?");
    refused.model = "strict".to_owned();
    let received = send(&harness, Dialect::Chat, &refused).await;
    assert_eq!(received.status, 400, "{received:?}");
    let message = received.json()["error"]["message"].to_string();
    assert!(
        message.contains("strict is served as text only and cannot call the tool weather"),
        "{message}"
    );
    assert!(message.contains("tool_calls"), "{message}");

    // Tools that must not be called need no support.
    refused.tool_choice = Some(ToolChoice::None);
    let received = send(&harness, Dialect::Chat, &refused).await;
    assert_eq!(received.status, 200, "{received:?}");
    let prompts = caller.prompts.lock().unwrap();
    assert_eq!(prompts[..], ["How is the weather?"]);
}

#[tokio::test]
async fn tools_that_only_a_provider_runs_are_refused() {
    let (harness, caller) = harness().await;
    let hosted = json!({
        "model": "talker", "input": "Hi", "tools": [{ "type": "web_search" }],
    });
    let received = harness.post("/v1/responses", &hosted).await;
    assert_eq!(received.status, 400, "{received:?}");
    let message = received.json()["error"]["message"].to_string();
    assert!(message.contains("only its provider can run"), "{message}");
    assert!(caller.prompts.lock().unwrap().is_empty());
}

#[tokio::test]
async fn models_with_transcript_tools_are_listed_with_tools() {
    let (harness, _) = harness().await;
    let features = |name: &'static str| {
        let harness = &harness;
        async move {
            let model = harness.get(&format!("/v1/models/{name}")).await;
            model.json()["features"].clone()
        }
    };
    assert_eq!(features("talker").await, json!(["completion", "tools"]));
    assert_eq!(features("strict").await, json!(["completion"]));
}
