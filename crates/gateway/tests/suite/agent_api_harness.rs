//! An agent API with predictable agents, on its own port.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use windlass_agents::model::{CompletionContext, CompletionModel};
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, BackendEvent, Capabilities, Error, ErrorCode,
    EventStream, Prompt, Result, SessionId, SessionOptions, SystemClock, TraceNode, TurnLimits,
    Usage,
};
use windlass_gateway::{
    AgentApi, AgentApiLimits, ModelCatalog, ModelInfo, ModelInfoKind, ModelLookupError,
    ServedModel, TraceSink,
};
use windlass_wire::{ModelEvent, ModelRequest};

use super::curl::{CurlResponse, curl};

/// An agent whose answer depends on the last line of its prompt.
#[derive(Clone)]
pub(crate) struct Echo {
    /// The options and the prompt of every session.
    pub(crate) prompts: Arc<Mutex<Vec<(SessionOptions, String)>>>,
    options: Arc<Mutex<SessionOptions>>,
    /// The number of active turns.
    pub(crate) turns: watch::Sender<usize>,
    cancelled: Arc<tokio::sync::Notify>,
}

impl Default for Echo {
    fn default() -> Self {
        Self {
            prompts: Arc::default(),
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
        self.prompts
            .lock()
            .unwrap()
            .push((options.clone(), prompt.text.clone()));
        let events = events(&prompt.text);
        let turns = self.turns.clone();
        turns.send_modify(|turns| *turns += 1);
        let cancelled = Arc::clone(&self.cancelled);
        let waits = prompt.text.lines().last() == Some("wait");
        let end = stream::once(async move {
            if waits {
                cancelled.notified().await;
            }
            turns.send_modify(|turns| *turns -= 1);
            waits.then(|| BackendEvent::from(AgentEvent::from(Error::Cancelled)))
        });
        let output = stream::iter(events.into_iter().map(BackendEvent::from));
        let all = if waits {
            output.chain(end.filter_map(std::future::ready)).boxed()
        } else {
            end.filter_map(std::future::ready).chain(output).boxed()
        };
        Box::pin(async move { Ok(all as EventStream) })
    }

    fn cancel<'a>(&'a self, _id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        self.cancelled.notify_one();
        Box::pin(async { Ok(()) })
    }
}

fn events(prompt: &str) -> Vec<AgentEvent> {
    let last_line = prompt.lines().last().unwrap_or_default();
    let text = |text: &str| AgentEvent::Text(text.to_owned());
    let failed = |code, message: &str| AgentEvent::Error {
        code,
        message: message.to_owned(),
        recoverable: false,
    };
    let mut events = match last_line {
        "wait" => return vec![text("so far")],
        "slow down" => return vec![failed(ErrorCode::RateLimited, "asked to wait 7 s")],
        "time out" => return vec![failed(ErrorCode::Timeout, "too long")],
        "no key" => return vec![failed(ErrorCode::AuthFailed, "sign in")],
        "break" => return vec![text("half"), failed(ErrorCode::BackendError, "broke")],
        _ => Vec::new(),
    };
    // If asked for JSON, it first answers with other text, and with JSON after the correction.
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

/// A model that accepts messages unchanged and responds with fixed events.
pub(crate) struct FixedModel(
    pub(crate) Vec<ModelEvent>,
    pub(crate) Arc<Mutex<Vec<ModelRequest>>>,
);

impl CompletionModel for FixedModel {
    fn complete_in(
        &self,
        request: ModelRequest,
        _context: &CompletionContext,
    ) -> BoxStream<'static, ModelEvent> {
        self.1.lock().unwrap().push(request);
        stream::iter(self.0.clone()).boxed()
    }
}

/// A sink that stores traces for the tests.
#[derive(Default)]
pub(crate) struct SavedTraces(pub(crate) watch::Sender<Vec<(String, TraceNode)>>);

impl TraceSink for SavedTraces {
    fn save(&self, id: String, root: TraceNode) -> BoxFuture<'_, ()> {
        self.0.send_modify(|saved| saved.push((id, root)));
        Box::pin(async {})
    }
}

/// All served models.
pub(crate) struct ModelList(pub(crate) Vec<ServedModel>);

impl ModelCatalog for ModelList {
    fn list(&self) -> Vec<ModelInfo> {
        let info = |served: &ServedModel| ModelInfo {
            id: served.name.clone(),
            kind: ModelInfoKind::Agent,
        };
        self.0.iter().map(info).collect()
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

/// A running agent API.
pub(crate) struct ApiHarness {
    pub(crate) url: String,
    pub(crate) api: AgentApi,
    pub(crate) echo: Echo,
    pub(crate) traces: Arc<SavedTraces>,
    pub(crate) request_dirs: TempDir,
}

impl ApiHarness {
    pub(crate) async fn new() -> Self {
        Self::with(Vec::new(), AgentApiLimits::default()).await
    }

    /// Serves `echo` and these models.
    pub(crate) async fn with(more: Vec<ServedModel>, limits: AgentApiLimits) -> Self {
        let echo = Echo::default();
        let handle = AgentHandle::wrap(echo.clone());
        let handle = handle.with_limits(TurnLimits {
            grace: Duration::from_secs(60),
            ..handle.limits()
        });
        let mut all = vec![ServedModel::new("echo", handle)];
        all.extend(more);
        let request_dirs = TempDir::new().unwrap();
        let traces = Arc::new(SavedTraces::default());
        let api = AgentApi::new(
            Arc::new(ModelList(all)),
            Arc::clone(&traces) as Arc<dyn TraceSink>,
            request_dirs.path(),
            Arc::new(SystemClock::new()),
            limits,
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = api.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            url,
            api,
            echo,
            traces,
            request_dirs,
        }
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> CurlResponse {
        curl(&format!("{}{path}", self.url), Some(body), &[]).await
    }

    pub(crate) async fn get(&self, path: &str) -> CurlResponse {
        curl(&format!("{}{path}", self.url), None, &[]).await
    }

    /// Sends a chat completion with one message.
    pub(crate) async fn chat(&self, model: &str, text: &str, more: Value) -> CurlResponse {
        let mut body = json!({ "model": model, "messages": [{ "role": "user", "content": text }] });
        let more = more.as_object().cloned().unwrap_or_default();
        body.as_object_mut().unwrap().extend(more);
        self.post("/v1/chat/completions", &body).await
    }

    /// Waits for this number of traces, and returns them.
    pub(crate) async fn traces(&self, count: usize) -> Vec<(String, TraceNode)> {
        let mut saved = self.traces.0.subscribe();
        let saved = saved.wait_for(|saved| saved.len() >= count).await.unwrap();
        saved.clone()
    }

    /// Waits until this number of turns is active.
    pub(crate) async fn turns(&self, count: usize) {
        let mut turns = self.echo.turns.subscribe();
        turns.wait_for(|turns| *turns == count).await.unwrap();
    }

    /// Returns the remaining temporary directories of requests.
    pub(crate) fn remaining_dirs(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.request_dirs.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}
