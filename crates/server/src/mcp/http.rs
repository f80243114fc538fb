//! MCP over HTTP, below `/mcp`.
//!
//! There are no sessions: the scopes of the request's token decide, so that a revoked token ends immediately
//! and no client can fill a table of sessions. A client that closes its connection cancels its call.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::post;
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;

use super::handler::{McpAudit, McpHandler};
use crate::access::{Caller, RouteAccess};
use crate::listen::ClientAddress;
use crate::state::AppState;

/// Returns the router of the MCP server.
pub(crate) fn router() -> Router<AppState> {
    // The protocol's own answer to the other methods says which one it supports.
    let methods = post(serve).get(serve).delete(serve);
    // Each tool checks its own scopes.
    Router::new().route("/mcp", RouteAccess::AnyToken.protect(methods))
}

async fn serve(State(state): State<AppState>, caller: Caller, request: Request) -> Response {
    let board = state.board_for(&caller);
    let address = request.extensions().get::<ClientAddress>();
    let audit = McpAudit {
        auditor: state.auditor.clone(),
        actor: caller.author().to_owned(),
        source: address.map_or_else(String::new, |address| address.0.to_string()),
    };
    let slots = state.call_slots.clone();
    let handler = McpHandler::new(board, caller.scopes, slots, Some(audit));
    // The guard has checked host, origin and size.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_max_request_body_bytes(state.limits.body_bytes)
        .with_cancellation_token(state.stop.clone())
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(handler.clone()), sessions, config);
    service.handle(request).await.map(Body::new)
}
