//! The router of all endpoints.

use std::future;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing::{MethodRouter, any, get, post};
use windlass_core::Clock;

use crate::state::ApiState;
use crate::{AgentApiLimits, ModelCatalog, TraceSink, embeddings, handlers};

/// Agents as models, to be mounted in a server.
///
/// It does not check tokens: the server that mounts it does, and renders rejections with
/// [`error_response`](crate::error_response).
#[derive(Debug, Clone)]
pub struct AgentApi {
    state: Arc<ApiState>,
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
        let state = ApiState::new(models, traces, request_dirs.into(), clock, limits);
        Self {
            state: Arc::new(state),
        }
    }

    /// Returns the router: `/v1/…` for OpenAI and Anthropic clients, `/api/…` for Ollama clients.
    pub fn router(&self) -> Router {
        let endpoints: Vec<String> = routes()
            .iter()
            .map(|(method, path, _)| format!("{method} {path}"))
            .collect();
        let endpoints: Arc<str> = endpoints.join(", ").into();
        let unknown = any(move |request: Request| {
            future::ready(handlers::unknown_endpoint(&request, &endpoints))
        });
        let routes = routes().into_iter();
        let router = routes.fold(Router::new(), |router, (_, path, handler)| {
            router.route(path, handler)
        });
        // One segment only: the server's own API is at `/api/v1/…`.
        router
            .route("/v1/{*path}", unknown.clone())
            .route("/api/{path}", unknown)
            .with_state(Arc::clone(&self.state))
    }

    /// Returns the number of active requests.
    pub fn active_requests(&self) -> usize {
        self.state.active_requests()
    }

    /// Aborts all active requests, and waits until their directories and processes are gone.
    pub async fn close(&self) {
        self.state.close().await;
    }
}

/// Returns every endpoint: its method, its path and its handler.
fn routes() -> [(&'static str, &'static str, MethodRouter<Arc<ApiState>>); 11] {
    let complete = || post(handlers::complete).fallback(handlers::method_not_allowed);
    let count_tokens = post(handlers::count_tokens).fallback(handlers::method_not_allowed);
    [
        ("POST", "/v1/chat/completions", complete()),
        ("POST", "/v1/responses", complete()),
        ("POST", "/v1/messages", complete()),
        ("POST", "/v1/messages/count_tokens", count_tokens),
        (
            "POST",
            "/v1/embeddings",
            post(embeddings::embed).fallback(handlers::method_not_allowed),
        ),
        ("GET", "/v1/models", get(handlers::list_models)),
        ("GET", "/v1/models/{*name}", get(handlers::get_model)),
        ("POST", "/api/chat", complete()),
        ("GET", "/api/tags", get(handlers::tags)),
        ("POST", "/api/show", post(handlers::show)),
        ("GET", "/api/version", get(handlers::version)),
    ]
}
