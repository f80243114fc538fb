//! Login for browsers: the token is exchanged for an HttpOnly cookie.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use windlass_core::{ExposeSecret, SecretString};

use super::extract::JsonBody;
use crate::error::ApiError;
use crate::guard::unauthorized;
use crate::state::AppState;
use crate::token::cookie;

/// The cookie's lifetime in seconds: 30 days.
const COOKIE_MAX_AGE: u64 = 30 * 24 * 60 * 60;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoginBody {
    #[serde(deserialize_with = "secret")]
    token: SecretString,
}

fn secret<'de, D: serde::Deserializer<'de>>(from: D) -> Result<SecretString, D::Error> {
    String::deserialize(from).map(SecretString::from)
}

pub(super) async fn login(
    State(state): State<AppState>,
    JsonBody(body): JsonBody<LoginBody>,
) -> Result<Response, ApiError> {
    let token = body.token.expose_secret();
    if !state.token.matches(token) {
        return Err(unauthorized());
    }
    Ok(with_cookie(&state, &cookie(token), COOKIE_MAX_AGE))
}

pub(super) async fn logout(State(state): State<AppState>) -> Response {
    with_cookie(&state, "", 0)
}

fn with_cookie(state: &AppState, value: &str, seconds: u64) -> Response {
    let name = &state.cookie_name;
    let cookie = format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}");
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
}
