//! A front with agents that do as they are told, on a port of its own.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use windlass_agents::model::CompletionModel;
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, BackendEvent, Capabilities, Error, ErrorCode,
    EventStream, Prompt, Result, SessionId, SessionOptions, SystemClock, TraceCollector, TraceNode,
    TurnLimits, Usage,
};
use windlass_gateway::{
    AgentApi, AgentApiLimits, ModelCatalog, ModelInfo, ModelInfoKind, ModelLookupError,
    ServedModel, TraceSink,
};
use windlass_wire::{ModelEvent, ModelRequest};

use super::curl::{Seen, curl};

/// An agent that answers by the last line of its prompt.
#[derive(Clone)]
pub(crate) struct Echo {
    /// What every session was begun with, and told.
    pub(crate) heard: Arc<Mutex<Vec<(SessionOptions, String)>>>,
    options: Arc<Mutex<SessionOptions>>,
    /// How many turns are under way.
    pub(crate) turns: watch::Sender<usize>,
    cancelled: Arc<tokio::sync::Notify>,
}

impl Default for Echo {
    fn default() -> Self {
        Self {
            heard: Arc::default(),
            options: Arc::default(),
            turns: watch::Sender::new(0),
            cancelled: Arc::default(),
        }
    }
}

impl AgentBackend for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        *self.options.lock().unwrap() = options;
        Box::pin(async { Ok(SessionId::from("s".to_owned())) })
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        _options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        let session = id.clone();
        Box::pin(async {
            Err(Error::SessionNotFound {
                backend: "echo".to_owned(),
                session,
            })
        })
    }

    fn prompt<'a>(
        &'a self,
        _id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        let options = self.options.lock().unwrap().clone();
        self.heard
            .lock()
            .unwrap()
            .push((options.clone(), prompt.text.clone()));
        let events = events(&prompt.text);
        let turns = self.turns.clone();
        turns.send_modify(|turns| *turns += 1);
        let cancelled = Arc::clone(&self.cancelled);
        let stays = prompt.text.lines().last() == Some("wait");
        let end = stream::once(async move {
            if stays {
                cancelled.notified().await;
            }
            turns.send_modify(|turns| *turns -= 1);
            stays.then(|| BackendEvent::from(AgentEvent::from(Error::Cancelled)))
        });
        let said = stream::iter(events.into_iter().map(BackendEvent::from));
        let all = match stays {
            true => said.chain(end.filter_map(std::future::ready)).boxed(),
            false => end.filter_map(std::future::ready).chain(said).boxed(),
        };
        Box::pin(async move { Ok(all as EventStream) })
    }

    fn cancel<'a>(&'a self, _id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        self.cancelled.notify_one();
        Box::pin(async { Ok(()) })
    }
}

fn events(prompt: &str) -> Vec<AgentEvent> {
    let wish = prompt.lines().last().unwrap_or_default();
    let text = |text: &str| AgentEvent::Text(text.to_owned());
    let failed = |code, message: &str| AgentEvent::Error {
        code,
        message: message.to_owned(),
        recoverable: false,
    };
    let mut events = match wish {
        "wait" => return vec![text("so far")],
        "slow down" => return vec![failed(ErrorCode::RateLimited, "asked to wait 7 s")],
        "time out" => return vec![failed(ErrorCode::Timeout, "too long")],
        "no key" => return vec![failed(ErrorCode::AuthFailed, "sign in")],
        "break" => return vec![text("half"), failed(ErrorCode::BackendError, "broke")],
        _ => Vec::new(),
    };
    // Asked for JSON it gives nonsense first, and an answer when it hears why.
    let answer = if prompt.contains("was not accepted") {
        "{\"name\": \"rope\"}".to_owned()
    } else if prompt.contains("JSON schema") {
        "certainly".to_owned()
    } else {
        format!("[{prompt}]")
    };
    let (one, two) = answer.split_at(answer.len() / 2);
    events.extend([
        text(one),
        text(two),
        AgentEvent::Result {
            text: answer.clone(),
            usage: Some(Usage {
                input_tokens: 11,
                output_tokens: 7,
                ..Usage::default()
            }),
            metadata: Value::Null,
        },
    ]);
    events
}

/// Somebody who takes messages as they are, and says what was written down.
pub(crate) struct Book(
    pub(crate) Vec<ModelEvent>,
    pub(crate) Arc<Mutex<Vec<ModelRequest>>>,
);

impl CompletionModel for Book {
    fn complete_traced(
        &self,
        request: ModelRequest,
        _nodes: &TraceCollector,
    ) -> BoxStream<'static, ModelEvent> {
        self.1.lock().unwrap().push(request);
        stream::iter(self.0.clone()).boxed()
    }
}

/// The traces that were kept.
#[derive(Default)]
pub(crate) struct Kept(pub(crate) watch::Sender<Vec<(String, TraceNode)>>);

impl TraceSink for Kept {
    fn save(&self, id: String, root: TraceNode) -> BoxFuture<'_, ()> {
        self.0.send_modify(|kept| kept.push((id, root)));
        Box::pin(async {})
    }
}

/// Everybody there is.
pub(crate) struct Everybody(pub(crate) Vec<ServedModel>);

impl ModelCatalog for Everybody {
    fn list(&self) -> Vec<ModelInfo> {
        let card = |served: &ServedModel| ModelInfo {
            id: served.name.clone(),
            kind: ModelInfoKind::Agent,
        };
        self.0.iter().map(card).collect()
    }

    fn find(&self, name: &str) -> std::result::Result<ServedModel, ModelLookupError> {
        if name == "broken" {
            return Err(ModelLookupError::Unavailable {
                name: name.to_owned(),
                problem: "not installed".to_owned(),
            });
        }
        let found = self.0.iter().find(|served| served.name == name);
        found.cloned().ok_or_else(|| ModelLookupError::Unknown {
            name: name.to_owned(),
            near: vec!["echo".to_owned()],
        })
    }
}

/// A served front.
pub(crate) struct World {
    pub(crate) url: String,
    pub(crate) front: AgentApi,
    pub(crate) echo: Echo,
    pub(crate) traces: Arc<Kept>,
    pub(crate) rooms: TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Vec::new(), AgentApiLimits::default()).await
    }

    /// `echo`, and these.
    pub(crate) async fn with(more: Vec<ServedModel>, limits: AgentApiLimits) -> Self {
        let echo = Echo::default();
        let handle = AgentHandle::wrap(echo.clone());
        let handle = handle.with_limits(TurnLimits {
            grace: Duration::from_secs(60),
            ..handle.limits()
        });
        let mut all = vec![ServedModel::new("echo", handle)];
        all.extend(more);
        let rooms = TempDir::new().unwrap();
        let traces = Arc::new(Kept::default());
        let front = AgentApi::new(
            Arc::new(Everybody(all)),
            Arc::clone(&traces) as Arc<dyn TraceSink>,
            rooms.path(),
            Arc::new(SystemClock::new()),
            limits,
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = front.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            url,
            front,
            echo,
            traces,
            rooms,
        }
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Seen {
        curl(&format!("{}{path}", self.url), Some(body), &[]).await
    }

    pub(crate) async fn get(&self, path: &str) -> Seen {
        curl(&format!("{}{path}", self.url), None, &[]).await
    }

    /// A chat completion of this one message.
    pub(crate) async fn chat(&self, model: &str, text: &str, more: Value) -> Seen {
        let mut body = json!({ "model": model, "messages": [{ "role": "user", "content": text }] });
        let more = more.as_object().cloned().unwrap_or_default();
        body.as_object_mut().unwrap().extend(more);
        self.post("/v1/chat/completions", &body).await
    }

    /// The traces, once there are so many.
    pub(crate) async fn traces(&self, count: usize) -> Vec<(String, TraceNode)> {
        let mut kept = self.traces.0.subscribe();
        let kept = kept.wait_for(|kept| kept.len() >= count).await.unwrap();
        kept.clone()
    }

    /// Waits until so many turns are under way.
    pub(crate) async fn turns(&self, count: usize) {
        let mut turns = self.echo.turns.subscribe();
        turns.wait_for(|turns| *turns == count).await.unwrap();
    }

    /// What is left of the requests' own folders.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.rooms.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}
