//! Headers that every response has, and the handling of panics.

use std::panic::AssertUnwindSafe;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use windlass_core::escape_line;

use crate::error::ApiError;
use crate::state::AppState;

/// Allows only own scripts, styles, images and connections, no framing, and no text that becomes markup or a
/// script.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; font-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

const SECURITY_HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", CSP),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), microphone=(), geolocation=()",
    ),
];

/// Assigns a request id, catches panics, and adds the headers to the response.
pub(crate) async fn finalize_response(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let id = state.next_id();
    // Never the query: a client may have put a token there, although none is accepted.
    let path = request.uri().path().to_owned();
    let method = request.method().clone();
    let in_api = path.starts_with("/api/v1/");
    let run = AssertUnwindSafe(next.run(request)).catch_unwind();
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
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        response = error.into_response_for(&path, &id);
    }
    let status = response.status().as_u16();
    tracing::debug!(%id, %method, path = %escape_line(&path), status, "response");
    let headers = response.headers_mut();
    for (name, value) in SECURITY_HEADERS {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert("x-request-id", id);
    }
    response
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panic: {}", text.unwrap_or_default())
}
