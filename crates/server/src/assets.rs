//! The dashboard's files, which are embedded in the program.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::error::ApiError;
use crate::token::hex;

#[derive(RustEmbed)]
#[folder = "assets/"]
struct Assets;

/// Serves a file of the dashboard. Every page is `index.html`.
pub(crate) async fn file(request: Request) -> Response {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return not_found();
    }
    let path = request.uri().path();
    let path = path.strip_prefix('/').unwrap_or(path);
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if path.contains("..")
        || path.starts_with('/')
        || path.contains("//")
        || !path.chars().all(is_allowed)
    {
        return not_found();
    }
    let is_page = path.is_empty()
        || (!path.contains('.')
            && !["api", "v1", "mcp", "git/"]
                .iter()
                .any(|api| path.starts_with(api)));
    let name = if is_page { "index.html" } else { path };
    match Assets::get(name) {
        Some(found) => send(request.headers(), name, found),
        None => not_found(),
    }
}

fn send(request_headers: &HeaderMap, name: &str, file: EmbeddedFile) -> Response {
    let tag = format!("\"{}\"", hex(&file.metadata.sha256_hash()[..16]));
    let known = request_headers.get(header::IF_NONE_MATCH);
    let mut response = if known.is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let kind = [(header::CONTENT_TYPE, content_type(name))];
        (kind, file.data.into_owned()).into_response()
    };
    let headers = response.headers_mut();
    // Cached, but revalidated each time: another version of the program has other files.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" | "webmanifest" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

pub(crate) fn not_found() -> Response {
    ApiError::new(StatusCode::NOT_FOUND, "not_found", "not found").into_response()
}
