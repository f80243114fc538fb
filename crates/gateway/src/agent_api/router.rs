//! The router of all endpoints.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use windlass_core::Clock;

use super::{AgentApiLimits, ModelCatalog, ModelLookupError, ServedModel, TraceSink, handlers};

/// Agents as models, to be mounted in a server.
///
/// It does not check tokens: the server that mounts it does, and renders rejections with
/// [`error_response`](super::error_response).
#[derive(Debug, Clone)]
pub struct AgentApi {
    state: Arc<ApiState>,
}

/// State shared by all requests.
pub(super) struct ApiState {
    pub(super) models: Arc<dyn ModelCatalog>,
    pub(super) traces: Arc<dyn TraceSink>,
    /// The parent of the requests' temporary directories.
    pub(super) request_dirs: PathBuf,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) limits: AgentApiLimits,
    /// One permit per concurrent request.
    pub(super) permits: Arc<Semaphore>,
    /// The number of requests that are being served or cleaned up.
    jobs: watch::Sender<usize>,
    pub(super) stopped: CancellationToken,
}

impl AgentApi {
    /// Creates an API for these models. Requests without a configured directory use temporary ones in
    /// `request_dirs`, which must not be in the system's temporary directory: sandboxed agents see an empty
    /// directory there.
    pub fn new(
        models: Arc<dyn ModelCatalog>,
        traces: Arc<dyn TraceSink>,
        request_dirs: impl Into<PathBuf>,
        clock: Arc<dyn Clock>,
        limits: AgentApiLimits,
    ) -> Self {
        Self {
            state: Arc::new(ApiState {
                models,
                traces,
                request_dirs: request_dirs.into(),
                clock,
                limits,
                permits: Arc::new(Semaphore::new(
                    limits.concurrent.min(Semaphore::MAX_PERMITS),
                )),
                jobs: watch::Sender::new(0),
                stopped: CancellationToken::new(),
            }),
        }
    }

    /// Returns the router: `/v1/…` for OpenAI and Anthropic clients, `/api/…` for Ollama clients.
    pub fn router(&self) -> Router {
        let complete = || post(handlers::complete).fallback(handlers::method_not_allowed);
        Router::new()
            .route("/v1/chat/completions", complete())
            .route("/v1/responses", complete())
            .route("/v1/messages", complete())
            .route(
                "/v1/messages/count_tokens",
                post(handlers::count_tokens).fallback(handlers::method_not_allowed),
            )
            .route("/v1/models", get(handlers::list_models))
            .route("/v1/models/{*name}", get(handlers::get_model))
            .route("/api/chat", complete())
            .route("/api/tags", get(handlers::tags))
            .route("/api/show", post(handlers::show))
            .route("/api/version", get(handlers::version))
            .with_state(Arc::clone(&self.state))
    }

    /// Returns the number of active requests.
    pub fn active_requests(&self) -> usize {
        *self.state.jobs.borrow()
    }

    /// Aborts all active requests, and waits until their directories and processes are gone.
    pub async fn close(&self) {
        self.state.stopped.cancel();
        let mut jobs = self.state.jobs.subscribe();
        // This cannot fail because `self` holds the sender.
        let _ = jobs.wait_for(|jobs| *jobs == 0).await;
    }
}

impl ApiState {
    /// Counts one more active request until the returned guard is dropped.
    pub(super) fn track_request(self: &Arc<Self>) -> ActiveRequest {
        self.jobs.send_modify(|jobs| *jobs += 1);
        ActiveRequest(Arc::clone(self))
    }

    /// Returns the model with the given name. Ollama clients may append a tag to it.
    pub(super) fn find(&self, name: &str) -> Result<ServedModel, ModelLookupError> {
        let found = self.models.find(name);
        match (found, name.strip_suffix(":latest")) {
            (Err(_), Some(plain)) => self.models.find(plain),
            (found, _) => found,
        }
    }
}

/// A guard that counts one active request.
pub(super) struct ActiveRequest(Arc<ApiState>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.jobs.send_modify(|jobs| *jobs -= 1);
    }
}

impl fmt::Debug for ApiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiState")
            .field("request_dirs", &self.request_dirs)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
