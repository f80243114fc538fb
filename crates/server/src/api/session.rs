//! Sessions of browsers: a token is exchanged for an HttpOnly cookie. The store has the sessions, so that a
//! closed one is useless immediately and an open one survives a restart.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windlass_core::{ExposeSecret, SecretString, Timestamp};
use windlass_tasks::{BrowserSession, ProjectId, Scope};

use super::extract::JsonBody;
use super::schema;
use crate::access::{Caller, Credential};
use crate::audit::AuditNote;
use crate::error::{ApiError, JsonResponse, unauthorized};
use crate::guard::cookie_name;
use crate::state::AppState;
use crate::token::{Token, secret_hash};

/// How long a session lasts: 30 days.
const LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

#[derive(Deserialize, ToSchema)]
#[schema(as = Login)]
#[serde(deny_unknown_fields)]
pub(super) struct LoginBody {
    #[serde(deserialize_with = "secret")]
    #[schema(value_type = String)]
    token: SecretString,
}

fn secret<'de, D: serde::Deserializer<'de>>(from: D) -> Result<SecretString, D::Error> {
    String::deserialize(from).map(SecretString::from)
}

/// What the caller's token allows.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub(super) struct SessionBody {
    /// The name of the token.
    name: String,
    #[schema(value_type = Vec<schema::Scope>)]
    scopes: Vec<Scope>,
    /// The visible projects; null means all.
    #[schema(required, value_type = Option<Vec<i64>>)]
    projects: Option<Vec<ProjectId>>,
    #[schema(required, value_type = Option<u64>)]
    expires_at: Option<Timestamp>,
}

/// Returns what the token of the request allows.
#[utoipa::path(get, path = "/session", responses((status = 200, description = "Success.", body = SessionBody)))]
pub(super) async fn show(caller: Caller) -> JsonResponse<SessionBody> {
    JsonResponse(SessionBody {
        name: caller.name,
        scopes: caller.scopes,
        projects: caller.projects,
        expires_at: caller.expires_at,
    })
}

/// Exchanges the token for an HttpOnly session cookie.
#[utoipa::path(post, path = "/session", request_body = LoginBody, responses((status = 204, description = "Success.")))]
pub(super) async fn login(
    State(state): State<AppState>,
    note: AuditNote,
    headers: HeaderMap,
    JsonBody(body): JsonBody<LoginBody>,
) -> Result<Response, ApiError> {
    let token = body.token.expose_secret();
    let authenticator = &state.authenticator;
    let caller = authenticator.by_token(token).await?;
    if let Some(caller) = &caller {
        note.set_actor(caller.author());
    }
    let token_hash = caller.and_then(|_| secret_hash(token));
    let token_hash = token_hash.ok_or_else(unauthorized)?;
    let cookie = Token::generate().map_err(|error| ApiError::internal(error.to_string()))?;
    let cookie = cookie.expose_secret();
    let host = host(&headers);
    let session = BrowserSession {
        hash: secret_hash(cookie).unwrap_or_default(),
        token_hash,
        host,
    };
    authenticator
        .store()
        .open_session(session, LIFETIME)
        .await?;
    Ok(with_cookie(&state, &headers, cookie, LIFETIME))
}

/// Ends the session and deletes its cookie.
#[utoipa::path(delete, path = "/session", responses((status = 204, description = "Success.")))]
pub(super) async fn logout(
    State(state): State<AppState>,
    headers: HeaderMap,
    caller: Caller,
) -> Result<Response, ApiError> {
    if let Credential::Session { hash, .. } = caller.credential {
        state.authenticator.store().close_session(hash).await?;
        state.authenticator.forget().await;
    }
    Ok(with_cookie(&state, &headers, "", Duration::ZERO))
}

/// Returns the host of a request, which the guard has checked.
fn host(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    host.unwrap_or_default().to_ascii_lowercase()
}

fn with_cookie(state: &AppState, headers: &HeaderMap, value: &str, lifetime: Duration) -> Response {
    let (name, seconds) = (cookie_name(&host(headers)), lifetime.as_secs());
    // The guard has checked the origin: with https, the page came from this server or from a proxy in front of it.
    let origin = headers.get(header::ORIGIN);
    let is_encrypted = state.hosts.are_encrypted()
        || origin.is_some_and(|origin| origin.as_bytes().starts_with(b"https://"));
    let secure = if is_encrypted { "; Secure" } else { "" };
    let cookie =
        format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}");
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
}
