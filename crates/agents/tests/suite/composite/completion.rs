//! Completions by a composite of models.

use futures::StreamExt;
use serde_json::{Value, json};
use windlass_agents::composite::{CompositeKind, CompositeProfile};
use windlass_agents::model::{CompletionContext, CompletionModel, completion_model};
use windlass_core::{AgentHandle, TraceNode};
use windlass_testkit::MockAgent;
use windlass_wire::{ErrorKind, Message, ModelEvent, ModelRequest, ModelResponse, Part, Role};

use super::super::model::harness::{Api, ModelFixture, scripted};
use super::{build, composite, describe};

fn request() -> ModelRequest {
    let mut request = ModelRequest::new("any");
    request.messages = vec![Message::new(Role::User, vec![Part::text("Hello?")])];
    request
}

fn prices() -> Value {
    json!({ "max_retries": 0, "input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0 })
}

async fn answer(agent: &dyn CompletionModel) -> (Vec<ModelEvent>, Vec<TraceNode>) {
    let context = CompletionContext::default();
    let events = agent.complete_in(request(), &context).collect().await;
    (events, context.nodes.take())
}

#[tokio::test]
async fn failing_model_falls_back_to_the_next() {
    let limited = json!([{ "or_more": true, "fault": { "status": { "code": 429, "retry_after_secs": 30 } } }]);
    let answers = json!([{ "or_more": true, "answer": [{ "text": "Hello." }] }]);
    let (first, second) = (scripted(limited).await, scripted(answers).await);
    let first = (
        ModelFixture::new(Api::Chat, &first.url(), prices()).await,
        first,
    );
    let second = (
        ModelFixture::new(Api::Messages, &second.url(), prices()).await,
        second,
    );
    let nodes = vec![("a", first.0.handle()), ("b", second.0.handle())];
    let handle = composite(CompositeKind::Fallback, nodes);
    let agent = completion_model(&handle).unwrap();
    let (events, steps) = answer(&*agent).await;
    let response = ModelResponse::from_events(&events).unwrap();
    assert_eq!(response.text(), "Hello.");
    let seen: Vec<String> = steps.iter().map(describe).collect();
    assert_eq!(seen, ["node a RateLimited", "node b ok"]);
    assert_eq!(steps[0].status, Some(429));
    let usage = steps[1].usage.clone().unwrap();
    assert!(usage.cost_usd.is_some_and(|cost| cost > 0.0), "{usage:?}");
    assert_eq!(describe(&steps[1].children[0]), "answer anthropic ok");
    // Agent turns and completions share the cool-downs.
    let (_, steps) = answer(&*agent).await;
    let seen: Vec<String> = steps.iter().map(describe).collect();
    assert_eq!(seen, ["skipped a RateLimited", "node b ok"]);
    let events = super::ask(&handle, "Hello?").await;
    assert_eq!(
        super::steps(&events),
        ["skipped a RateLimited", "node b ok"]
    );
}

#[tokio::test]
async fn all_nodes_cooling_down_returns_retry_after() {
    let limited = json!([{ "or_more": true, "fault": { "status": { "code": 429, "retry_after_secs": 30 } } }]);
    let model = scripted(limited).await;
    let fixture = ModelFixture::new(Api::Ollama, &model.url(), prices()).await;
    let agent = build(
        CompositeProfile::new(CompositeKind::Fallback),
        vec![("a", fixture.handle())],
    );
    let agent = agent.completion_model().unwrap();
    for _ in 0..2 {
        let (events, _) = answer(&*agent).await;
        let [ModelEvent::Error(error)] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!((error.kind, error.status), (ErrorKind::RateLimited, 429));
        let wait = error.retry_after.unwrap().as_secs();
        assert!((28..=30).contains(&wait), "{wait}");
    }
}

#[tokio::test]
async fn dropped_response_records_cancelled_step() {
    let hangs = json!([{ "or_more": true, "fault": "hang" }]);
    let model = scripted(hangs).await;
    let fixture = ModelFixture::new(Api::Chat, &model.url(), prices()).await;
    let agent = build(
        CompositeProfile::new(CompositeKind::Single),
        vec![("a", fixture.handle())],
    );
    let context = CompletionContext::default();
    let mut events = agent
        .completion_model()
        .unwrap()
        .complete_in(request(), &context);
    assert!(futures::poll!(events.next()).is_pending());
    drop(events);
    let steps: Vec<String> = context.nodes.take().iter().map(describe).collect();
    assert_eq!(steps, ["node a Cancelled"]);
}

#[tokio::test]
async fn only_composites_of_models_support_completions() {
    let model = scripted(json!([{ "answer": [{ "text": "Hi." }] }])).await;
    let fixture = ModelFixture::new(Api::Chat, &model.url(), json!({})).await;
    assert!(completion_model(&fixture.handle()).is_some());
    let mock = || AgentHandle::wrap(MockAgent::new());
    assert!(completion_model(&mock()).is_none());
    let mixed = composite(
        CompositeKind::Fallback,
        vec![("a", fixture.handle()), ("b", mock())],
    );
    assert!(completion_model(&mixed).is_none());
    let planned = composite(
        CompositeKind::PlanExecute,
        vec![("a", fixture.handle()), ("b", fixture.handle())],
    );
    assert!(completion_model(&planned).is_none());
}
