//! Responses that are relayed as the server sends them.

use futures::StreamExt;
use serde_json::json;
use windlass_agents::model::{CompletionContext, CompletionModel, completion_model};
use windlass_core::SecretString;
use windlass_wire::{FunctionTool, ModelRequest, OutputFormat, Route, ToolDefinition};

use super::super::harness::KEY;
use super::harness::{Api, CannedServer, ModelFixture, http};

/// Returns a request, as a client sends it.
fn request(path: &str, stream: bool) -> Box<ModelRequest> {
    let mut body = json!({ "model": "alias", "stream": stream, "max_tokens": 9 });
    if path.ends_with("responses") {
        body["input"] = "Say hi.".into();
    } else {
        body["messages"] = json!([{ "role": "user", "content": "Say hi." }]);
    }
    let body = body.to_string().into_bytes();
    let request = Route::parse(path).unwrap().parse_request(&body).unwrap();
    Box::new(request)
}

fn path(api: Api) -> &'static str {
    match api {
        Api::Ollama => "/api/chat",
        Api::Chat => "/v1/chat/completions",
        Api::Responses => "/v1/responses",
        Api::Messages => "/v1/messages",
    }
}

/// Returns a stream with an unknown field, and its usage.
fn response(api: Api) -> &'static str {
    match api {
        Api::Ollama => {
            "{\"message\":{\"content\":\"hi\"},\"odd\":1,\"done\":false}\n{\"message\":{},\"done\":true,\"prompt_eval_count\":7,\"eval_count\":2}\n"
        }
        Api::Chat => {
            "data: {\"odd\":1,\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":null}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n"
        }
        Api::Responses => {
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"odd\":1,\"delta\":\"hi\"}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[],\"usage\":{\"input_tokens\":7,\"output_tokens\":2}}}\n\n"
        }
        Api::Messages => {
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"odd\":1,\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
        }
    }
}

async fn relayed(model: &dyn CompletionModel, api: Api, context: &CompletionContext) -> String {
    received(model, request(path(api), true), context).await
}

async fn received(
    model: &dyn CompletionModel,
    request: Box<ModelRequest>,
    context: &CompletionContext,
) -> String {
    let Ok(call) = model.relay(request, context) else {
        panic!("the response is not relayed");
    };
    let items: Vec<_> = call.await.unwrap().collect().await;
    let bytes: Vec<u8> = items.into_iter().flat_map(|item| item.unwrap()).collect();
    String::from_utf8(bytes).unwrap()
}

fn stream_response(body: &str) -> String {
    http("200 OK", "content-type: text/event-stream\r\n", body)
}

#[tokio::test]
async fn stream_is_relayed_and_its_usage_is_counted() {
    for api in Api::ALL {
        let server = CannedServer::start(vec![stream_response(response(api))]).await;
        let fixture = ModelFixture::new(api, server.url(), json!({})).await;
        let context = CompletionContext::default();
        assert_eq!(relayed(&fixture.agent, api, &context).await, response(api));
        let usage = context.nodes.take()[0].total_usage();
        assert_eq!((usage.input_tokens, usage.output_tokens), (7, 2), "{api:?}");
        assert!(server.seen()[0].contains("\"model\":\"m\""), "{api:?}");
    }
}

#[tokio::test]
async fn p19_key_is_removed_from_a_relayed_stream() {
    let echo = format!("data: {{\"error\":{{\"message\":\"bad key {KEY}\"}}}}\n\n");
    let server = CannedServer::start(vec![stream_response(&echo)]).await;
    let fixture = ModelFixture::new(Api::Chat, server.url(), json!({})).await;
    let context = CompletionContext::default();
    let received = relayed(&fixture.agent, Api::Chat, &context).await;
    assert!(
        received.contains("bad key") && !received.contains(KEY),
        "{received}"
    );
    let trace = format!("{:?}", context.nodes.take());
    assert!(trace.contains("bad key") && !trace.contains(KEY), "{trace}");
}

#[tokio::test]
async fn response_that_must_be_read_is_not_relayed() {
    let fixture = ModelFixture::new(Api::Chat, "http://127.0.0.1:9", json!({})).await;
    let is_relayed = |request: Box<ModelRequest>| {
        let context = CompletionContext::default();
        fixture.agent.relay(request, &context).is_ok()
    };
    assert!(is_relayed(request(path(Api::Chat), true)));
    assert!(!is_relayed(request(path(Api::Messages), true)));
    let mut with_tools = request(path(Api::Chat), true);
    let tool = ToolDefinition::Function(FunctionTool::new("look_up"));
    with_tools.tools.push(tool);
    assert!(!is_relayed(with_tools));
    let mut with_schema = request(path(Api::Chat), true);
    with_schema.output = OutputFormat::Json;
    assert!(!is_relayed(with_schema));
}

#[tokio::test]
async fn p19_secret_is_masked_in_a_relayed_document_and_in_a_stream_that_splits_it() {
    let document = "{\"choices\":[{\"message\":{\"content\":\"canary-0123456789\"},\"finish_reason\":\"stop\"}]}";
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"it is canary-01\"}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":\"23456789, yes\"},\"finish_reason\":\"stop\"}]}\n\n\
        data: [DONE]\n\n";
    let server = CannedServer::start(vec![
        stream_response(stream),
        http("200 OK", "content-type: application/json\r\n", document),
    ])
    .await;
    let fixture = ModelFixture::new(Api::Chat, server.url(), json!({})).await;
    let secret = ("TOKEN".to_owned(), SecretString::from("canary-0123456789"));
    let masker = windlass_core::Masker::new([secret]);
    let model = completion_model(&fixture.handle().with_masker(masker)).unwrap();
    let context = CompletionContext::default();
    let streamed = received(&*model, request(path(Api::Chat), true), &context).await;
    assert!(
        streamed.contains("it is ") && streamed.contains(", yes"),
        "{streamed}"
    );
    assert!(streamed.ends_with("data: [DONE]\n\n"), "{streamed}");
    for part in ["canary", "01", "23456789"] {
        assert!(!streamed.contains(part), "{part} in {streamed}");
    }
    let whole = received(&*model, request(path(Api::Chat), false), &context).await;
    assert!(whole.starts_with("{\"choices\""), "{whole}");
    assert!(!whole.contains("canary"), "{whole}");
}
