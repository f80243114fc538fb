//! The audit log.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use windlass_core::Timestamp;
use windlass_tasks::{AuditEntry, AuditFilter, AuditId, MAX_AUDIT_PAGE};

use super::extract::QueryParams;
use crate::access::Caller;
use crate::error::{ApiError, ApiResult, JsonResponse};
use crate::state::AppState;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditQuery {
    /// Only entries before this one.
    #[param(value_type = Option<i64>)]
    before: Option<AuditId>,
    /// Only entries of this actor.
    actor: Option<String>,
    /// Page size; at most 1000.
    limit: Option<u32>,
}

/// An entry of the audit log.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditEntry)]
pub(super) struct AuditEntryBody {
    #[schema(value_type = i64)]
    id: AuditId,
    /// Milliseconds since the Unix epoch.
    #[schema(value_type = u64)]
    at: Timestamp,
    /// The name of the token; `owner` for the server's own; empty if the caller is unknown.
    actor: String,
    /// The address of the client, or `cli` or `stdio`.
    source: String,
    /// The method and path of a request, the name of an MCP tool, or a command.
    action: String,
    /// What it was done to, if the action does not name it.
    subject: String,
    /// `ok`, or the code of the error.
    result: String,
    /// The id of the request in the log of the server.
    request: String,
}

impl From<AuditEntry> for AuditEntryBody {
    fn from(entry: AuditEntry) -> Self {
        Self {
            id: entry.id,
            at: entry.at,
            actor: entry.actor,
            source: entry.source,
            action: entry.action,
            subject: entry.subject,
            result: entry.result,
            request: entry.request,
        }
    }
}

/// Lists the audit log, newest first. It needs a token of all projects.
#[utoipa::path(get, path = "/audit", params(AuditQuery), responses((status = 200, description = "Success.", body = Vec<AuditEntryBody>)))]
pub(super) async fn list(
    State(state): State<AppState>,
    caller: Caller,
    QueryParams(query): QueryParams<AuditQuery>,
) -> ApiResult<Vec<AuditEntryBody>> {
    if caller.projects.is_some() {
        return Err(ApiError::forbidden(
            "the audit log has the actions on all projects: it needs a token of all projects",
        ));
    }
    let filter = AuditFilter {
        before: query.before,
        actor: query.actor,
        limit: query.limit.unwrap_or(MAX_AUDIT_PAGE),
    };
    let entries = state.authenticator.store().audit(filter).await?;
    Ok(JsonResponse(
        entries.into_iter().map(AuditEntryBody::from).collect(),
    ))
}
