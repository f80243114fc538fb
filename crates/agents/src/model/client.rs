//! Sends a request to a model API and streams the events of the response.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::Value;
use windlass_core::SecretString;
use windlass_wire::{
    Dialect, ErrorKind, ModelError, ModelEvent, ModelRequest, ReportedUsage, StreamDecoder,
    TokenUsage,
};

use super::counted::{CallCounter, CallRecord};
use crate::bridge::{BridgeLease, BridgedAccess, OwnRequest};
use crate::http::{ApiKey, BaseUrl, Client, ResponseBody};

/// How many times the idle timeout a whole response may take if responses are streamed otherwise: the server sends nothing
/// until it is complete.
const WHOLE_RESPONSE_FACTOR: u32 = 5;

/// A client of one model API in one dialect.
#[derive(Debug)]
pub(super) struct ModelClient {
    http: Arc<Client>,
    /// A client for whole responses, with a longer idle timeout.
    whole_http: Arc<Client>,
    dialect: Dialect,
    /// Counts the calls, if they are counted.
    counter: Option<CallCounter>,
    /// Keeps the address of the bridge open that the calls go to, if they do.
    _lease: Option<Arc<BridgeLease>>,
}

/// The progress of a response.
enum ResponseState {
    Sending(Box<ModelRequest>),
    Receiving(Box<(ResponseBody, StreamDecoder)>),
    Done,
}

/// A response that is being received.
struct ResponseStream {
    client: Arc<ModelClient>,
    state: ResponseState,
    queue: VecDeque<ModelEvent>,
    record: CallRecord,
}

impl ModelClient {
    /// Creates a client. `streams` tells whether responses are streamed unless a caller wants a whole one.
    pub(super) fn new(http: Client, dialect: Dialect, streams: bool) -> Self {
        let factor = if streams { WHOLE_RESPONSE_FACTOR } else { 1 };
        Self {
            whole_http: Arc::new(http.with_longer_wait(factor)),
            http: Arc::new(http),
            dialect,
            counter: None,
            _lease: None,
        }
    }

    /// Returns the same client, which counts its calls.
    pub(super) fn counted(&self, counter: CallCounter) -> Self {
        Self {
            http: Arc::clone(&self.http),
            whole_http: Arc::clone(&self.whole_http),
            dialect: self.dialect,
            counter: Some(counter),
            _lease: None,
        }
    }

    /// Returns the same client, whose calls go to an address of the bridge. `None` if it cannot be created.
    pub(super) fn through(&self, access: BridgedAccess) -> Option<Self> {
        let address = BaseUrl::parse(&access.url).ok()?;
        let key = ApiKey::new(access.tokens.into_iter().next());
        let http = |client: &Client| client.at(address.clone(), key.clone()).ok().map(Arc::new);
        Some(Self {
            http: http(&self.http)?,
            whole_http: http(&self.whole_http)?,
            dialect: self.dialect,
            counter: None,
            _lease: Some(Arc::new(access.lease)),
        })
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the key, if there is one.
    pub(super) fn secret(&self) -> Option<&SecretString> {
        self.http.key().secret()
    }

    /// Asks the server for a document outside the dialect: a GET request, or a POST request with a body. Returns `None`
    /// if the server has no such document.
    pub(super) async fn ask(&self, path: &str, body: Option<Value>) -> Option<Value> {
        self.http.ask(self.dialect, path, body).await
    }

    /// Sends the request and returns the events of the response. Exactly the last event is `Done` or `Error`. Dropping
    /// the stream drops the request.
    pub(super) fn stream(
        self: &Arc<Self>,
        request: ModelRequest,
    ) -> BoxStream<'static, ModelEvent> {
        let response = ResponseStream {
            client: Arc::clone(self),
            state: ResponseState::Sending(Box::new(request)),
            queue: VecDeque::new(),
            record: CallRecord::default(),
        };
        stream::unfold(response, ResponseStream::next).boxed()
    }

    /// Sends a request for embeddings. Ollama has OpenAI's path for them too.
    pub(super) async fn embed(&self, body: &Value) -> Result<Value, ModelError> {
        let text = body.to_string();
        let request = OwnRequest {
            dialect: Dialect::Chat,
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            max_output: Some(0),
            bytes: text.len() as u64,
        };
        let mut record = self.begin_counted(request).await?;
        let answer = self.post_embeddings(text).await;
        let end = answer.as_ref().map(|answer| ReportedUsage {
            usage: answer["usage"]["prompt_tokens"]
                .as_u64()
                .map(|tokens| TokenUsage {
                    input_tokens: tokens,
                    ..TokenUsage::default()
                }),
            is_final: true,
            ..ReportedUsage::default()
        });
        record.end(end.map_err(Clone::clone)).await;
        answer
    }

    async fn post_embeddings(&self, body: String) -> Result<Value, ModelError> {
        let response = self.http.post(Dialect::Chat, "/v1/embeddings", body);
        let body = response.await?.read_all().await?;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        if answer["data"].is_array() {
            Ok(answer)
        } else {
            let message = "the response to a request for embeddings has no `data`";
            Err(ModelError::new(ErrorKind::Protocol, message))
        }
    }

    /// Removes the key from a part of a response.
    pub(super) fn bytes_without_key(&self, bytes: Bytes) -> Bytes {
        let redacted = self.http.key().redact_bytes(&bytes);
        redacted.map_or(bytes, Bytes::from)
    }

    /// Removes the key from an error: a provider may repeat it, also inside a stream.
    pub(super) fn without_key(&self, mut error: ModelError) -> ModelError {
        error.message = self.http.key().redact(error.message);
        error
    }

    /// Counts a call that is about to be sent.
    pub(super) async fn begin(
        &self,
        request: &ModelRequest,
        body: &[u8],
    ) -> Result<CallRecord, ModelError> {
        let request = OwnRequest {
            dialect: self.dialect,
            model: request.model.clone(),
            max_output: request.max_tokens,
            bytes: body.len() as u64,
        };
        self.begin_counted(request).await
    }

    async fn begin_counted(&self, request: OwnRequest) -> Result<CallRecord, ModelError> {
        match &self.counter {
            Some(counter) => counter.begin(request).await,
            None => Ok(CallRecord::default()),
        }
    }

    pub(super) async fn send_body(
        &self,
        request: &ModelRequest,
        body: Vec<u8>,
    ) -> Result<ResponseBody, ModelError> {
        let path = self.dialect.path(request);
        tracing::debug!(
            endpoint = %self.http.address(),
            dialect = %self.dialect,
            model = request.model,
            bytes = body.len(),
            "sending a request to the model"
        );
        let http = if request.stream {
            &self.http
        } else {
            &self.whole_http
        };
        http.post(self.dialect, &path, body).await
    }
}

impl ResponseStream {
    async fn next(mut self) -> Option<(ModelEvent, Self)> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                self.record.on_event(&event).await;
                if event.is_terminal() {
                    self.state = ResponseState::Done;
                    self.queue.clear();
                }
                return Some((self.without_key(event), self));
            }
            let state = std::mem::replace(&mut self.state, ResponseState::Done);
            let step = match state {
                ResponseState::Done => return None,
                ResponseState::Sending(request) => self.open_stream(&request).await,
                ResponseState::Receiving(receiving) => self.on_bytes(receiving).await,
            };
            if let Err(error) = step {
                self.queue.push_back(ModelEvent::Error(error));
            }
        }
    }

    async fn open_stream(&mut self, request: &ModelRequest) -> Result<(), ModelError> {
        let body = self.client.dialect.render_request(request);
        self.record = self.client.begin(request, &body).await?;
        let response = self.client.send_body(request, body).await?;
        // Some servers send one document although a stream was requested. For Ollama one document is a
        // stream of one chunk, which the decoder handles.
        if !request.stream || response.is_json() && self.client.dialect != Dialect::Ollama {
            let body = response.read_all().await?;
            self.queue
                .extend(self.client.dialect.parse_response(&body)?);
            return Ok(());
        }
        let decoder = StreamDecoder::new(self.client.dialect);
        self.state = ResponseState::Receiving(Box::new((response, decoder)));
        Ok(())
    }

    async fn on_bytes(
        &mut self,
        mut receiving: Box<(ResponseBody, StreamDecoder)>,
    ) -> Result<(), ModelError> {
        let (response, decoder) = receiving.as_mut();
        match response.chunk().await? {
            Some(bytes) => {
                self.queue.extend(decoder.push(&bytes));
                self.state = ResponseState::Receiving(receiving);
            }
            None => self.queue.extend(receiving.1.finish()),
        }
        Ok(())
    }

    /// Removes the key from an error event.
    fn without_key(&self, event: ModelEvent) -> ModelEvent {
        match event {
            ModelEvent::Error(error) => ModelEvent::Error(self.client.without_key(error)),
            other => other,
        }
    }
}
