//! Tools of a client for an agent that accepts only text.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use windlass_core::{AgentEvent, AgentHandle};
use windlass_gateway::{AgentApiLimits, ServedModel};
use windlass_testkit::FnAgent;
use windlass_wire::{
    Dialect, FunctionTool, Message, ModelRequest, ModelResponse, Part, Role, StopReason,
    ToolChoice, ToolDefinition, ToolResult,
};

use super::agent_api::{ENDPOINTS, read};
use super::agent_api_harness::ApiHarness;

/// The prompts that the agent received.
type Prompts = Arc<Mutex<Vec<String>>>;

/// Asks for the weather, and answers when the prompt has the result.
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

async fn harness() -> (ApiHarness, Prompts) {
    let prompts = Prompts::default();
    let received = Arc::clone(&prompts);
    let agent = AgentHandle::wrap(FnAgent::new(move |prompt| {
        let answer = answer(&prompt.text);
        received.lock().unwrap().push(prompt.text);
        [AgentEvent::result(answer)]
    }));
    let served = |name, transcript_tools| ServedModel {
        transcript_tools,
        ..ServedModel::new(name, agent.clone())
    };
    let models = vec![served("talker", true), served("strict", false)];
    let harness = ApiHarness::with(models, AgentApiLimits::default()).await;
    (harness, prompts)
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
    let (harness, prompts) = harness().await;
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
    let prompts = prompts.lock().unwrap();
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
    let (harness, prompts) = harness().await;
    let response = ask(&harness, Dialect::Chat, &request("once badly")).await;
    let [Part::ToolCall(call)] = &response.parts[..] else {
        panic!("{response:?}");
    };
    assert_eq!(call.input, r#"{"city":"Brno"}"#);
    let corrected = prompts.lock().unwrap().last().cloned().unwrap();
    assert!(corrected.contains("city"), "{corrected}");

    let received = send(&harness, Dialect::Chat, &request("always badly")).await;
    assert_eq!(received.status, 502, "{received:?}");
}

#[tokio::test]
async fn tools_are_refused_unless_the_model_is_set_to_transcript() {
    let (harness, prompts) = harness().await;
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
    let prompts = prompts.lock().unwrap();
    assert_eq!(prompts[..], ["How is the weather?"]);
}

#[tokio::test]
async fn tools_that_only_a_provider_runs_are_refused() {
    let (harness, prompts) = harness().await;
    let hosted = json!({
        "model": "talker", "input": "Hi", "tools": [{ "type": "web_search" }],
    });
    let received = harness.post("/v1/responses", &hosted).await;
    assert_eq!(received.status, 400, "{received:?}");
    let message = received.json()["error"]["message"].to_string();
    assert!(message.contains("only its provider can run"), "{message}");
    assert!(prompts.lock().unwrap().is_empty());
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
