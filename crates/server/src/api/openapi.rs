//! The OpenAPI document. Tests check it against the routes and against real responses.

use axum::http::header;
use axum::response::{IntoResponse, Response};

pub(super) const DOCUMENT: &str = include_str!("openapi.json");

pub(super) async fn show() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT).into_response()
}
