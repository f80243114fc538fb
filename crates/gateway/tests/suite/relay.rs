//! Responses of a model that pass to the client as they are.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_agents::model::{CompletionContext, CompletionModel, RelayCall};
use windlass_core::{AgentHandle, ErrorCode};
use windlass_gateway::{AgentApiLimits, ServedModel};
use windlass_wire::{ErrorKind, ModelError, ModelEvent, ModelRequest};

use super::agent_api_harness::{ApiHarness, Echo};

const FRAME: &str = "data: {\"id\":\"up-1\",\"odd field\": 1, \"choices\":[]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// A model that is relayed: its response, and whether that ends.
struct RelayedModel {
    response: Result<Vec<Result<&'static str, ModelError>>, ModelError>,
    hangs: bool,
}

impl CompletionModel for RelayedModel {
    fn complete_in(
        &self,
        _request: ModelRequest,
        _context: &CompletionContext,
    ) -> BoxStream<'static, ModelEvent> {
        stream::empty().boxed()
    }

    fn relay(
        &self,
        _request: Box<ModelRequest>,
        _context: &CompletionContext,
    ) -> Result<RelayCall, Box<ModelRequest>> {
        let (response, hangs) = (self.response.clone(), self.hangs);
        Ok(Box::pin(async move {
            let items = response?.into_iter();
            let body =
                stream::iter(items.map(|item| item.map(|text| Bytes::from(text.to_owned()))));
            Ok(if hangs {
                body.chain(stream::pending()).boxed()
            } else {
                body.boxed()
            })
        }))
    }
}

async fn serve(
    response: Result<Vec<Result<&'static str, ModelError>>, ModelError>,
    hangs: bool,
) -> ApiHarness {
    let served = ServedModel {
        native: Some(Arc::new(RelayedModel { response, hangs })),
        ..ServedModel::new("relayed", AgentHandle::wrap(Echo::default()))
    };
    ApiHarness::with(vec![served], AgentApiLimits::default()).await
}

fn overloaded() -> ModelError {
    ModelError::new(ErrorKind::Overloaded, "come later")
}

#[tokio::test]
async fn stream_passes_as_it_is() {
    let harness = serve(Ok(vec![Ok(FRAME), Ok(DONE)]), false).await;
    let received = harness
        .chat("relayed", "hi", json!({ "stream": true }))
        .await;
    assert_eq!(
        (received.status, received.body),
        (200, format!("{FRAME}{DONE}"))
    );
    let traces = harness.traces(1).await;
    assert!(traces[0].1.error.is_none(), "{traces:?}");
    assert_eq!(traces[0].1.name, "request (chat)");
    harness.api.close().await;
}

#[tokio::test]
async fn document_passes_as_it_is() {
    let document = "{ \"id\": \"up-1\",  \"odd field\": 1 }";
    let harness = serve(Ok(vec![Ok(document)]), false).await;
    let received = harness.chat("relayed", "hi", json!({})).await;
    assert_eq!((received.status, received.body.as_str()), (200, document));
    harness.api.close().await;
    assert_eq!(harness.traces(1).await.len(), 1);
}

#[tokio::test]
async fn error_before_the_response_has_its_status() {
    for stream in [false, true] {
        let harness = serve(Err(overloaded()), false).await;
        let received = harness
            .chat("relayed", "hi", json!({ "stream": stream }))
            .await;
        assert_eq!(received.status, overloaded().status, "{received:?}");
        assert!(received.body.contains("come later"), "{received:?}");
        let traces = harness.traces(1).await;
        assert!(traces[0].1.error.is_some(), "{traces:?}");
    }
}

#[tokio::test]
async fn error_in_a_stream_is_its_last_frame() {
    let harness = serve(Ok(vec![Ok(FRAME), Err(overloaded())]), false).await;
    let received = harness
        .chat("relayed", "hi", json!({ "stream": true }))
        .await;
    let rest = received.body.strip_prefix(FRAME).unwrap();
    assert!(
        rest.starts_with("data: {\"error\":") && rest.contains("come later"),
        "{rest}"
    );
    let traces = harness.traces(1).await;
    assert!(traces[0].1.error.is_some(), "{traces:?}");
}

#[tokio::test]
async fn trace_of_a_client_that_disconnects_is_cancelled() {
    let harness = serve(Ok(vec![Ok(FRAME)]), true).await;
    let body = json!({ "model": "relayed", "stream": true, "messages": [{ "role": "user", "content": "hi" }] }).to_string();
    let address = harness.url.trim_start_matches("http://");
    let mut client = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    client.write_all(request.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    while !String::from_utf8_lossy(&received).contains("odd field") {
        client.read_buf(&mut received).await.unwrap();
    }
    drop(client);
    let traces = harness.traces(1).await;
    let error = traces[0].1.error.as_ref().unwrap();
    assert_eq!(error.code, ErrorCode::Cancelled);
}

#[tokio::test]
async fn stop_ends_a_relayed_stream() {
    let harness = serve(Ok(vec![Ok(FRAME)]), true).await;
    let chat = harness.chat("relayed", "hi", json!({ "stream": true }));
    let stop = async {
        while harness.api.active_requests() == 0 {
            tokio::task::yield_now().await;
        }
        harness.api.close().await;
    };
    let (received, ()) = tokio::join!(chat, stop);
    assert!(received.body.contains("shutting down"), "{received:?}");
    assert_eq!(harness.api.active_requests(), 0);
}
