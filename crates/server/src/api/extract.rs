//! Extractors that validate the parts of a request.

use std::str::FromStr;

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;
use windlass_tasks::TaskId;

use crate::error::ApiError;
use crate::state::AppState;

/// The id in a path.
pub(crate) struct PathId<Id = TaskId>(pub(crate) Id);

/// The query parameters.
pub(crate) struct QueryParams<T>(pub(crate) T);

/// The JSON body.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<Id: FromStr> FromRequestParts<AppState> for PathId<Id> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let found = Path::<String>::from_request_parts(parts, state).await;
        let Path(text) = found.map_err(|error| ApiError::bad_request(error.body_text()))?;
        parse_id(&text).map(Self)
    }
}

/// Parses an id in the format that the API uses.
pub(crate) fn parse_id<T: FromStr>(text: &str) -> Result<T, ApiError> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let found = plain.then(|| text.parse().ok()).flatten();
    found.ok_or_else(|| {
        ApiError::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "expected a number in the path",
        )
    })
}

impl<T: DeserializeOwned> FromRequestParts<AppState> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let found = Query::from_request_parts(parts, state).await;
        let Query(fields) =
            found.map_err(|error| ApiError::bad_request(bad_query(&error.body_text())))?;
        Ok(Self(fields))
    }
}

/// Returns the error message for an invalid query, in the format of that for a body.
fn bad_query(message: &str) -> String {
    let (_, why) = message.split_once(": ").unwrap_or(("", message));
    format!("invalid query: {why}")
}

impl<T: DeserializeOwned> FromRequest<AppState> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "not_json",
                "send JSON, with `Content-Type: application/json`",
            ));
        }
        // The guard has already read the body.
        let bytes = to_bytes(request.into_body(), state.limits.body_bytes).await;
        let bytes = bytes.map_err(|error| ApiError::bad_request(error.to_string()))?;
        let parsed = serde_json::from_slice(&bytes);
        parsed
            .map(Self)
            .map_err(|error| ApiError::bad_request(format!("invalid body: {error}")))
    }
}
