//! The dashboard's files, which are part of the program.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::error::ApiError;
use crate::guard::hex;

#[derive(RustEmbed)]
#[folder = "assets/"]
struct Assets;

/// A file of the dashboard; every page of it is the same one.
pub(crate) async fn file(request: Request) -> Response {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return not_found();
    }
    let path = request.uri().path();
    let path = path.strip_prefix('/').unwrap_or(path);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if path.contains("..")
        || path.starts_with('/')
        || path.contains("//")
        || !path.chars().all(plain)
    {
        return not_found();
    }
    let is_page = path.is_empty()
        || (!path.contains('.') && !path.starts_with("api") && !path.starts_with("v1"));
    let name = if is_page { "index.html" } else { path };
    match Assets::get(name) {
        Some(found) => send(request.headers(), name, found),
        None => not_found(),
    }
}

fn send(asked: &HeaderMap, name: &str, found: EmbeddedFile) -> Response {
    let tag = format!("\"{}\"", hex(&found.metadata.sha256_hash()[..16]));
    let known = asked.get(header::IF_NONE_MATCH);
    let mut response = if known.is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let kind = [(header::CONTENT_TYPE, content_type(name))];
        (kind, found.data.into_owned()).into_response()
    };
    let headers = response.headers_mut();
    // Kept, but asked for again each time: another version of the program has other files.
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
    ApiError::new(StatusCode::NOT_FOUND, "not_found", "there is nothing here").into_response()
}
