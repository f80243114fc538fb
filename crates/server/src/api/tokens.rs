//! Tokens of the store. A token cannot grant more than it has itself.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windlass_core::{ExposeSecret, Timestamp};
use windlass_tasks::{AccessToken, NewAccessToken, ProjectId, Scope, StoreError, TokenId};

use super::extract::{JsonBody, PathId};
use super::schema;
use crate::access::Caller;
use crate::audit::AuditNote;
use crate::error::{ApiError, JsonResponse};
use crate::state::AppState;
use crate::token::Token;

#[derive(Deserialize, ToSchema)]
#[schema(as = NewToken)]
#[serde(deny_unknown_fields)]
pub(super) struct NewTokenBody {
    name: String,
    #[schema(value_type = Vec<schema::Scope>)]
    scopes: Vec<Scope>,
    /// Default: the projects of the caller's token.
    #[schema(value_type = Option<Vec<i64>>)]
    projects: Option<Vec<ProjectId>>,
    /// Default: the token is valid until it is revoked.
    expires_in_secs: Option<u64>,
}

/// A token without its secret.
#[derive(Serialize, ToSchema)]
#[schema(as = Token)]
pub(super) struct TokenInfo {
    #[schema(value_type = i64)]
    id: TokenId,
    name: String,
    #[schema(value_type = Vec<schema::Scope>)]
    scopes: Vec<Scope>,
    /// The visible projects; null means all.
    #[schema(required, value_type = Option<Vec<i64>>)]
    projects: Option<Vec<ProjectId>>,
    /// Milliseconds since the Unix epoch.
    #[schema(value_type = u64)]
    created_at: Timestamp,
    #[schema(required, value_type = Option<u64>)]
    expires_at: Option<Timestamp>,
    #[schema(required, value_type = Option<u64>)]
    revoked_at: Option<Timestamp>,
}

impl From<AccessToken> for TokenInfo {
    fn from(token: AccessToken) -> Self {
        Self {
            id: token.id,
            name: token.name,
            scopes: token.scopes,
            projects: token.projects,
            created_at: token.created_at,
            expires_at: token.expires_at,
            revoked_at: token.revoked_at,
        }
    }
}

/// A new token. Its secret is shown only here.
#[derive(Serialize, ToSchema)]
pub(super) struct CreatedToken {
    /// The secret to send.
    token: String,
    info: TokenInfo,
}

/// Lists the tokens, oldest first, without their secrets.
#[utoipa::path(get, path = "/tokens", responses((status = 200, description = "Success.", body = Vec<TokenInfo>)))]
pub(super) async fn list(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<JsonResponse<Vec<TokenInfo>>, ApiError> {
    let tokens = state.authenticator.store().tokens().await?;
    let visible = tokens.into_iter().filter(|token| manages(&caller, token));
    Ok(JsonResponse(visible.map(TokenInfo::from).collect()))
}

/// Returns `true` if the caller sees all projects of a token.
fn manages(caller: &Caller, token: &AccessToken) -> bool {
    match &token.projects {
        Some(projects) => projects.iter().all(|project| caller.sees(*project)),
        None => caller.projects.is_none(),
    }
}

/// Creates a token; the response is the only one with its secret.
#[utoipa::path(post, path = "/tokens", request_body = NewTokenBody, responses((status = 201, description = "Success.", body = CreatedToken)))]
pub(super) async fn add(
    State(state): State<AppState>,
    caller: Caller,
    note: AuditNote,
    JsonBody(body): JsonBody<NewTokenBody>,
) -> Result<Response, ApiError> {
    for scope in &body.scopes {
        caller.require(*scope)?;
    }
    note.set_subject(format_args!("token {:?}", body.name));
    let projects = body.projects.or_else(|| caller.projects.clone());
    let mut hidden = projects.iter().flatten();
    if let Some(project) = hidden.find(|project| !caller.sees(**project)) {
        return Err(StoreError::not_found("project", project).into());
    }
    let secret = Token::generate_for_store();
    let (secret, hash) = secret.map_err(|error| ApiError::internal(error.to_string()))?;
    let new = NewAccessToken {
        name: body.name,
        hash,
        scopes: body.scopes,
        projects,
        expires_in: body.expires_in_secs.map(Duration::from_secs),
    };
    let added = state.authenticator.store().add_token(new).await;
    let created = CreatedToken {
        token: secret.expose_secret().to_owned(),
        info: added.map_err(ApiError::from_input_error)?.into(),
    };
    Ok((StatusCode::CREATED, JsonResponse(created)).into_response())
}

/// Revokes a token; its sessions and WebSockets end.
#[utoipa::path(delete, path = "/tokens/{id}", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = TokenInfo)))]
pub(super) async fn revoke(
    State(state): State<AppState>,
    caller: Caller,
    note: AuditNote,
    PathId(id): PathId<TokenId>,
) -> Result<JsonResponse<TokenInfo>, ApiError> {
    let store = state.authenticator.store();
    let tokens = store.tokens().await?;
    let found = tokens.iter().find(|token| token.id == id);
    let found = found.filter(|token| manages(&caller, token));
    let found = found.ok_or_else(|| StoreError::not_found("token", id))?;
    note.set_subject(format_args!("token {:?}", found.name));
    let revoked = store.revoke_token(id).await?;
    state.authenticator.forget().await;
    Ok(JsonResponse(revoked.into()))
}
