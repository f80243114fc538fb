//! The surfaces as one router.

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
/// It asks nobody for a token: whoever mounts it does, and tells refusals with [`refusal`](super::refusal).
#[derive(Debug, Clone)]
pub struct AgentApi {
    shared: Arc<ApiState>,
}

/// What all requests share.
pub(super) struct ApiState {
    pub(super) models: Arc<dyn ModelCatalog>,
    pub(super) traces: Arc<dyn TraceSink>,
    /// Where requests have their own folders.
    pub(super) rooms: PathBuf,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) limits: AgentApiLimits,
    /// A permit for each request that may be answered at once.
    pub(super) room: Arc<Semaphore>,
    /// How many requests are being answered or tidied up after.
    jobs: watch::Sender<usize>,
    pub(super) stopped: CancellationToken,
}

impl AgentApi {
    /// These models. Requests without a folder of their own work in new ones inside `rooms`, which must not lie where
    /// temporary files are: sandboxed agents see an empty folder there.
    pub fn new(
        models: Arc<dyn ModelCatalog>,
        traces: Arc<dyn TraceSink>,
        rooms: impl Into<PathBuf>,
        clock: Arc<dyn Clock>,
        limits: AgentApiLimits,
    ) -> Self {
        Self {
            shared: Arc::new(ApiState {
                models,
                traces,
                rooms: rooms.into(),
                clock,
                limits,
                room: Arc::new(Semaphore::new(
                    limits.concurrent.min(Semaphore::MAX_PERMITS),
                )),
                jobs: watch::Sender::new(0),
                stopped: CancellationToken::new(),
            }),
        }
    }

    /// The surfaces: `/v1/…` for clients of OpenAI and Anthropic, `/api/…` for those of Ollama.
    pub fn router(&self) -> Router {
        let ask = || post(handlers::complete).fallback(handlers::method_not_allowed);
        Router::new()
            .route("/v1/chat/completions", ask())
            .route("/v1/responses", ask())
            .route("/v1/messages", ask())
            .route(
                "/v1/messages/count_tokens",
                post(handlers::count_tokens).fallback(handlers::method_not_allowed),
            )
            .route("/v1/models", get(handlers::list_models))
            .route("/v1/models/{*name}", get(handlers::get_model))
            .route("/api/chat", ask())
            .route("/api/tags", get(handlers::tags))
            .route("/api/show", post(handlers::show))
            .route("/api/version", get(handlers::version))
            .with_state(Arc::clone(&self.shared))
    }

    /// How many requests are being answered.
    pub fn active_requests(&self) -> usize {
        *self.shared.jobs.borrow()
    }

    /// Ends every answer under way, and waits until their folders and processes are gone.
    pub async fn close(&self) {
        self.shared.stopped.cancel();
        let mut jobs = self.shared.jobs.subscribe();
        // The sender is ours, so this cannot fail.
        let _ = jobs.wait_for(|jobs| *jobs == 0).await;
    }
}

impl ApiState {
    /// Counts one more job, until this is dropped.
    pub(super) fn track_request(self: &Arc<Self>) -> ActiveRequest {
        self.jobs.send_modify(|jobs| *jobs += 1);
        ActiveRequest(Arc::clone(self))
    }

    /// Whoever answers to this name. Ollama's clients may put a tag behind it.
    pub(super) fn find(&self, name: &str) -> Result<ServedModel, ModelLookupError> {
        let found = self.models.find(name);
        match (found, name.strip_suffix(":latest")) {
            (Err(_), Some(plain)) => self.models.find(plain),
            (found, _) => found,
        }
    }
}

/// A job that is counted.
pub(super) struct ActiveRequest(Arc<ApiState>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.jobs.send_modify(|jobs| *jobs -= 1);
    }
}

impl fmt::Debug for ApiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("rooms", &self.rooms)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
