//! The API described for programs. Tests hold the description against the routes and against real answers.

use axum::http::header;
use axum::response::{IntoResponse, Response};

pub(super) const DOCUMENT: &str = include_str!("openapi.json");

pub(super) async fn show() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT).into_response()
}
