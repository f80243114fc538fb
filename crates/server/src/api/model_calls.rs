//! What the model calls of agents used and cost.

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windlass_core::Timestamp;
use windlass_tasks::{ProjectId, UsageKey, UsageRow};

use super::extract::QueryParams;
use super::schema;
use crate::access::VisibleStore;
use crate::error::{ApiResult, JsonResponse};
use crate::state::AppState;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct UsageParams {
    /// What the rows stand for.
    #[param(value_type = schema::UsageKey)]
    by: UsageKey,
    /// Only calls since this time, in milliseconds since the Unix epoch.
    #[param(value_type = Option<u64>)]
    since: Option<Timestamp>,
    /// Only calls for this project.
    #[param(value_type = Option<i64>)]
    project: Option<ProjectId>,
}

/// Returns what model calls used and cost, as the bridge counted them: a row for each model, agent, task or other value,
/// the highest cost first. At most 1000 rows.
#[utoipa::path(get, path = "/usage/calls", params(UsageParams), responses((status = 200, description = "Success.", body = Vec<schema::UsageRow>)))]
pub(super) async fn usage(
    State(state): State<AppState>,
    store: VisibleStore,
    QueryParams(params): QueryParams<UsageParams>,
) -> ApiResult<Vec<UsageRow>> {
    let rows = match &state.calls {
        Some(calls) => {
            let UsageParams { by, since, project } = params;
            store.usage_rows(&**calls, by, since, project).await?
        }
        None => Vec::new(),
    };
    Ok(JsonResponse(rows))
}
