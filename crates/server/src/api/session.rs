//! The door for browsers: a token is changed into a cookie that scripts cannot read.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use windlass_core::{ExposeSecret, SecretString};

use super::asked::Told;
use crate::error::Refusal;
use crate::guard::{cookie, unauthorized};
use crate::shared::Shared;

/// A month.
const SECONDS: u64 = 30 * 24 * 60 * 60;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Key {
    #[serde(deserialize_with = "secret")]
    token: SecretString,
}

fn secret<'de, D: serde::Deserializer<'de>>(from: D) -> Result<SecretString, D::Error> {
    String::deserialize(from).map(SecretString::from)
}

pub(super) async fn open(
    State(shared): State<Shared>,
    Told(key): Told<Key>,
) -> Result<Response, Refusal> {
    let token = key.token.expose_secret();
    if !shared.token.is(token) {
        return Err(unauthorized());
    }
    Ok(with_cookie(&shared, &cookie(token), SECONDS))
}

pub(super) async fn close(State(shared): State<Shared>) -> Response {
    with_cookie(&shared, "", 0)
}

fn with_cookie(shared: &Shared, value: &str, seconds: u64) -> Response {
    let name = &shared.cookie_name;
    let cookie = format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}");
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
}
