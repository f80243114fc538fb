//! Headers that every response has, and the handling of panics.

use std::panic::AssertUnwindSafe;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use tokio::time::Instant;
use tracing::Instrument as _;
use windlass_core::escape_line;
use windlass_tasks::NewAuditEntry;

use crate::audit::{self, AuditNote, PendingEntry};
use crate::error::ApiError;
use crate::git;
use crate::guard::GuardedRouter;
use crate::listen::ClientAddress;
use crate::state::AppState;

/// Allows only own scripts, styles, images and connections, no framing, and no text that becomes markup or a
/// script.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; font-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

static SECURITY_HEADERS: [(HeaderName, HeaderValue); 7] = [
    security_header("content-security-policy", CSP),
    security_header("x-content-type-options", "nosniff"),
    security_header("x-frame-options", "DENY"),
    security_header("referrer-policy", "no-referrer"),
    security_header("cross-origin-opener-policy", "same-origin"),
    security_header("cross-origin-resource-policy", "same-origin"),
    security_header(
        "permissions-policy",
        "camera=(), microphone=(), geolocation=()",
    ),
];
/// How many further headers most responses have.
const OTHER_HEADERS: usize = 8;
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const fn security_header(name: &'static str, value: &'static str) -> (HeaderName, HeaderValue) {
    (
        HeaderName::from_static(name),
        HeaderValue::from_static(value),
    )
}

impl GuardedRouter {
    /// Assigns a request id, catches panics, and adds the headers to the response.
    pub(crate) async fn respond(self, request: Request) -> Response {
        let id = self.state.next_id();
        // At the highest level, so that each level of the log has its field.
        let span = tracing::error_span!("request", request_id = &*id);
        respond(&self, id, request).instrument(span).await
    }
}

async fn respond(guarded: &GuardedRouter, id: String, mut request: Request) -> Response {
    let state = &guarded.state;
    // Never the query: a client may have put a token there, although none is accepted.
    let path = request.uri().path().to_owned();
    let method = request.method().clone();
    let started = Instant::now();
    let in_api = path.starts_with("/api/v1/");
    let is_challenge = git::is_challenge(&method, &path, request.headers());
    let entry = start_entry(state, &mut request, &id);
    let run = AssertUnwindSafe(guarded.handle(request)).catch_unwind();
    let result = if in_api {
        tokio::time::timeout(state.limits.answer_time, run).await
    } else {
        Ok(run.await)
    };
    let mut response = match result {
        Ok(Ok(response)) => response,
        Ok(Err(panic)) => ApiError::internal(panic_message(&*panic)).into_response(),
        Err(_) => ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "timeout",
            "the request timed out: try again",
        )
        .with_retry_after(5)
        .into_response(),
    };
    let mut result = "ok";
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        result = error.code();
        response = error.into_response_for(&path, &id);
    }
    let is_challenge = is_challenge && response.status() == StatusCode::UNAUTHORIZED;
    if !is_challenge && audit::is_recorded(&method, &path, response.status()) {
        entry.finish(result).await;
    } else {
        entry.discard();
    }
    state
        .metrics
        .observe(&path, response.status(), started.elapsed());
    let status = response.status().as_u16();
    tracing::debug!(%method, path = %escape_line(&path), status, "response");
    let headers = response.headers_mut();
    headers.reserve(SECURITY_HEADERS.len() + OTHER_HEADERS);
    for (name, value) in &SECURITY_HEADERS {
        headers.insert(name, value.clone());
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    response
}

/// Starts the entry of a request in the audit log. The guard and the handler complete it.
fn start_entry(state: &AppState, request: &mut Request, id: &str) -> PendingEntry {
    let (method, path) = (request.method(), request.uri().path());
    let source = request.extensions().get::<ClientAddress>();
    let entry = NewAuditEntry {
        source: source.map_or_else(String::new, |address| address.0.to_string()),
        action: format!("{method} {path}"),
        request: id.to_owned(),
        ..NewAuditEntry::default()
    };
    let note = AuditNote::default();
    let may_change = audit::may_change(method, path);
    let pending = state.auditor.start(entry, note.clone(), may_change);
    request.extensions_mut().insert(note);
    pending
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panic: {}", text.unwrap_or_default())
}
