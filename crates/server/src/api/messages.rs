//! Messages of people to the agent of a task, and schedules.

use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use windlass_tasks::{AgentMessage, ProjectId, Schedule};

use super::extract::{JsonBody, PathId, QueryParams};
use super::schema;
use crate::access::{Caller, VisibleStore};
use crate::error::{ApiError, JsonResponse};

/// Lists the messages to the agent of a task, oldest first.
#[utoipa::path(get, path = "/tasks/{id}/messages", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = Vec<schema::AgentMessage>)))]
pub(super) async fn list(
    store: VisibleStore,
    PathId(id): PathId,
) -> Result<JsonResponse<Vec<AgentMessage>>, ApiError> {
    Ok(JsonResponse(store.messages(id).await?))
}

#[derive(Deserialize, ToSchema)]
#[schema(as = NewAgentMessage)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageBody {
    text: String,
}

/// Sends a message to the agent of a task. The agent receives it when its current turn ends, or with its next attempt.
#[utoipa::path(post, path = "/tasks/{id}/messages", params(("id" = i64, Path)), request_body = MessageBody, responses((status = 200, description = "Success.", body = schema::AgentMessage), (status = 409, description = "The current state does not allow it.")))]
pub(super) async fn send(
    store: VisibleStore,
    caller: Caller,
    PathId(id): PathId,
    JsonBody(body): JsonBody<MessageBody>,
) -> Result<JsonResponse<AgentMessage>, ApiError> {
    Ok(JsonResponse(
        store.send_message(id, caller.name, body.text).await?,
    ))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct ScheduleQuery {
    /// Only entries of this project.
    #[param(value_type = Option<i64>)]
    project: Option<ProjectId>,
}

/// Lists the schedules, in the order of their ids.
#[utoipa::path(get, path = "/schedules", params(ScheduleQuery), responses((status = 200, description = "Success.", body = Vec<schema::Schedule>)))]
pub(super) async fn schedules(
    store: VisibleStore,
    QueryParams(query): QueryParams<ScheduleQuery>,
) -> Result<JsonResponse<Vec<Schedule>>, ApiError> {
    Ok(JsonResponse(store.schedules(query.project).await?))
}
