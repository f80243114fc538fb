//! The line to a model: a request goes out, events come in.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use windlass_wire::{Dialect, ModelError, ModelEvent, ModelRequest, StreamReader};

use crate::http::{Client, Reply};

/// A model API that can be asked.
#[derive(Debug)]
pub(super) struct Line {
    client: Client,
    dialect: Dialect,
}

/// How far an answer is.
enum State {
    Asking(Box<ModelRequest>),
    Hearing(Box<(Reply, StreamReader)>),
    Over,
}

/// One answer on its way.
struct Answer {
    line: Arc<Line>,
    state: State,
    queue: VecDeque<ModelEvent>,
}

impl Line {
    pub(super) fn new(client: Client, dialect: Dialect) -> Self {
        Self { client, dialect }
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Asks, and gives the events of the answer. The last one, and no other, is `Done` or `Error`; dropping the
    /// stream drops the request.
    pub(super) fn ask(self: &Arc<Self>, request: ModelRequest) -> BoxStream<'static, ModelEvent> {
        let answer = Answer {
            line: Arc::clone(self),
            state: State::Asking(Box::new(request)),
            queue: VecDeque::new(),
        };
        stream::unfold(answer, Answer::next).boxed()
    }

    async fn send(&self, request: &ModelRequest) -> Result<Reply, ModelError> {
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

impl Answer {
    async fn next(mut self) -> Option<(ModelEvent, Self)> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                if event.is_last() {
                    self.state = State::Over;
                    self.queue.clear();
                }
                return Some((self.without_key(event), self));
            }
            let state = std::mem::replace(&mut self.state, State::Over);
            let step = match state {
                State::Over => return None,
                State::Asking(request) => self.begin(&request).await,
                State::Hearing(heard) => self.hear(heard).await,
            };
            if let Err(error) = step {
                self.queue.push_back(ModelEvent::Error(error));
            }
        }
    }

    async fn begin(&mut self, request: &ModelRequest) -> Result<(), ModelError> {
        let reply = self.line.send(request).await?;
        // Some servers answer whole although they were asked for pieces; Ollama's whole answer is its only piece.
        if !request.stream || reply.is_json() && self.line.dialect != Dialect::Ollama {
            let body = reply.whole().await?;
            self.queue.extend(self.line.dialect.parse_response(&body)?);
            return Ok(());
        }
        let reader = StreamReader::new(self.line.dialect);
        self.state = State::Hearing(Box::new((reply, reader)));
        Ok(())
    }

    async fn hear(&mut self, mut heard: Box<(Reply, StreamReader)>) -> Result<(), ModelError> {
        let (reply, reader) = heard.as_mut();
        match reply.chunk().await? {
            Some(bytes) => {
                self.queue.extend(reader.push(&bytes));
                self.state = State::Hearing(heard);
            }
            None => self.queue.extend(heard.1.finish()),
        }
        Ok(())
    }

    /// A failure inside an answer may say the key back, as one before it may.
    fn without_key(&self, event: ModelEvent) -> ModelEvent {
        match event {
            ModelEvent::Error(mut error) => {
                error.message = self.line.client.key().hide(error.message);
                ModelEvent::Error(error)
            }
            other => other,
        }
    }
}
