//! What a request says, checked before anybody acts on it.

use std::str::FromStr;

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;

use crate::error::Refusal;
use crate::shared::Shared;

/// The number in a path.
pub(crate) struct Number(pub(crate) i64);

/// The fields behind the question mark.
pub(crate) struct Fields<T>(pub(crate) T);

/// The JSON in the body.
pub(crate) struct Told<T>(pub(crate) T);

impl FromRequestParts<Shared> for Number {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Refusal> {
        let found = Path::<String>::from_request_parts(parts, shared).await;
        let Path(text) = found.map_err(|error| Refusal::bad(error.body_text()))?;
        number(&text).map(Self)
    }
}

/// A number of ours, as we write it.
pub(crate) fn number<T: FromStr>(text: &str) -> Result<T, Refusal> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let found = plain.then(|| text.parse().ok()).flatten();
    found.ok_or_else(|| {
        Refusal::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "expected a number in the path",
        )
    })
}

impl<T: DeserializeOwned> FromRequestParts<Shared> for Fields<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Refusal> {
        let found = Query::from_request_parts(parts, shared).await;
        let Query(fields) = found.map_err(|error| Refusal::bad(misfit(&error.body_text())))?;
        Ok(Self(fields))
    }
}

/// What is wrong with a query, in the words that a body gets.
fn misfit(said: &str) -> String {
    let (_, why) = said.split_once(": ").unwrap_or(("", said));
    format!("the query does not fit: {why}")
}

impl<T: DeserializeOwned> FromRequest<Shared> for Told<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, shared: &Shared) -> Result<Self, Refusal> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "not_json",
                "send JSON, with `Content-Type: application/json`",
            ));
        }
        // The guard has read it already.
        let bytes = to_bytes(request.into_body(), shared.limits.body_bytes).await;
        let bytes = bytes.map_err(|error| Refusal::bad(error.to_string()))?;
        let told = serde_json::from_slice(&bytes);
        told.map(Self)
            .map_err(|error| Refusal::bad(format!("the body does not fit: {error}")))
    }
}
