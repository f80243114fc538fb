//! The line to a model: a request goes out, events come in.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use windlass_wire::{Dialect, ModelError, ModelEvent, ModelRequest, StreamDecoder};

use crate::http::{Client, ResponseBody};

/// A model API that can be asked.
#[derive(Debug)]
pub(super) struct ModelClient {
    client: Client,
    dialect: Dialect,
}

/// How far an answer is.
enum ResponseState {
    Sending(Box<ModelRequest>),
    Receiving(Box<(ResponseBody, StreamDecoder)>),
    Done,
}

/// One answer on its way.
struct ResponseStream {
    line: Arc<ModelClient>,
    state: ResponseState,
    queue: VecDeque<ModelEvent>,
}

impl ModelClient {
    pub(super) fn new(client: Client, dialect: Dialect) -> Self {
        Self { client, dialect }
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Asks, and gives the events of the answer. The last one, and no other, is `Done` or `Error`; dropping the
    /// stream drops the request.
    pub(super) fn stream(
        self: &Arc<Self>,
        request: ModelRequest,
    ) -> BoxStream<'static, ModelEvent> {
        let answer = ResponseStream {
            line: Arc::clone(self),
            state: ResponseState::Sending(Box::new(request)),
            queue: VecDeque::new(),
        };
        stream::unfold(answer, ResponseStream::next).boxed()
    }

    async fn send(&self, request: &ModelRequest) -> Result<ResponseBody, ModelError> {
        let body = self.dialect.render_request(request);
        let path = self.dialect.path(request);
        tracing::debug!(
            endpoint = %self.client.address(),
            dialect = %self.dialect,
            model = request.model,
            bytes = body.len(),
            "asking the model"
        );
        self.client.post(self.dialect, &path, body).await
    }
}

impl ResponseStream {
    async fn next(mut self) -> Option<(ModelEvent, Self)> {
        loop {
            if let Some(event) = self.queue.pop_front() {
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
                ResponseState::Receiving(heard) => self.on_bytes(heard).await,
            };
            if let Err(error) = step {
                self.queue.push_back(ModelEvent::Error(error));
            }
        }
    }

    async fn open_stream(&mut self, request: &ModelRequest) -> Result<(), ModelError> {
        let reply = self.line.send(request).await?;
        // Some servers answer whole although they were asked for pieces; Ollama's whole answer is its only piece.
        if !request.stream || reply.is_json() && self.line.dialect != Dialect::Ollama {
            let body = reply.read_all().await?;
            self.queue.extend(self.line.dialect.parse_response(&body)?);
            return Ok(());
        }
        let reader = StreamDecoder::new(self.line.dialect);
        self.state = ResponseState::Receiving(Box::new((reply, reader)));
        Ok(())
    }

    async fn on_bytes(
        &mut self,
        mut heard: Box<(ResponseBody, StreamDecoder)>,
    ) -> Result<(), ModelError> {
        let (reply, reader) = heard.as_mut();
        match reply.chunk().await? {
            Some(bytes) => {
                self.queue.extend(reader.push(&bytes));
                self.state = ResponseState::Receiving(heard);
            }
            None => self.queue.extend(heard.1.finish()),
        }
        Ok(())
    }

    /// A failure inside an answer may say the key back, as one before it may.
    fn without_key(&self, event: ModelEvent) -> ModelEvent {
        match event {
            ModelEvent::Error(mut error) => {
                error.message = self.line.client.key().redact(error.message);
                ModelEvent::Error(error)
            }
            other => other,
        }
    }
}
