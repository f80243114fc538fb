//! The registered workers.

use windlass_tasks::{RegisteredWorker, WorkerId};

use super::extract::PathId;
use super::schema;
use crate::access::VisibleStore;
use crate::audit::AuditNote;
use crate::error::{ApiResult, JsonResponse};

/// Lists the workers of all machines with their load, by machine and id.
#[utoipa::path(get, path = "/workers", responses((status = 200, description = "Success.", body = Vec<schema::RegisteredWorker>)))]
pub(super) async fn list(store: VisibleStore) -> ApiResult<Vec<RegisteredWorker>> {
    Ok(JsonResponse(store.workers().await?))
}

/// Asks a worker to finish its tasks and to exit. It claims no other.
#[utoipa::path(post, path = "/workers/{id}/drain", params(("id" = i64, Path)), responses((status = 200, description = "Success.", body = schema::RegisteredWorker)))]
pub(super) async fn drain(
    store: VisibleStore,
    note: AuditNote,
    PathId(id): PathId<WorkerId>,
) -> ApiResult<RegisteredWorker> {
    let drained = store.drain_worker(id).await?;
    note.set_subject(format_args!("worker {:?}", drained.name));
    Ok(JsonResponse(drained))
}
