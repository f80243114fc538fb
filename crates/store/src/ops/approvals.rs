//! Permission requests: created by one process, decided through another.

use windlass_tasks::{
    Approval, ApprovalDecision, ApprovalId, Broadcast, NewApproval, StoreError, StoreResult, Task,
    TaskId,
};

use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, decode_error, json, sql};
use crate::task_row::{self, fence};

fn approval(row: &Row) -> StoreResult<Approval> {
    let chosen = row.opt_text("chosen")?;
    let decided = row.opt_int("decided_at")?;
    Ok(Approval {
        id: row.id("id")?,
        request: row.json("body")?,
        created_at: timestamp(row.int("created_at")?),
        decision: decided.map(|at| ApprovalDecision {
            option: chosen,
            at: timestamp(at),
        }),
    })
}

pub(crate) async fn request(db: &mut DbConnection, new: &NewApproval) -> StoreResult<Approval> {
    const INSERT: Sql = sql!(
        "INSERT INTO approval (task_id, attempt, body, created_at) VALUES ($1, $2, $3, $4) ",
        "RETURNING id, body, created_at, chosen, decided_at"
    );
    let task = fence(db, new.attempt).await?.task;
    let values = args![new.attempt.task, new.attempt.number, json(new)?, db.now()];
    let requested = match db.fetch_returning(INSERT, values).await?.first() {
        Some(row) => approval(row)?,
        None => return Err(decode_error("approval", "the insert returned no row")),
    };
    broadcast(db, &task, &requested, "approval_requested");
    Ok(requested)
}

/// Notifies subscribers of a new request or of a decision.
fn broadcast(db: &mut DbConnection, task: &Task, approval: &Approval, what: &str) {
    let end = match approval.decision.as_ref().map(|decision| &decision.option) {
        None => String::new(),
        Some(Some(option)) => format!(", decided: {option}"),
        Some(None) => ", withdrawn".to_owned(),
    };
    db.queue_event(Broadcast::ActivityUpdate {
        project_id: task.project_id,
        activity_type: what.to_owned(),
        agent_id: approval.request.agent.clone(),
        message: format!(
            "permission request {}: {}{end}",
            approval.id, approval.request.tool
        ),
        task_id: Some(task.id),
    });
}

pub(crate) async fn get(db: &mut DbConnection, id: ApprovalId) -> StoreResult<Approval> {
    const ONE: Sql =
        sql!("SELECT id, body, created_at, chosen, decided_at FROM approval WHERE id = $1");
    match db.fetch_optional(ONE, args![id]).await? {
        Some(row) => approval(&row),
        None => Err(StoreError::not_found("permission request", id)),
    }
}

pub(crate) async fn list(db: &mut DbConnection, open: bool) -> StoreResult<Vec<Approval>> {
    const LIST: Sql = sql!(
        "SELECT id, body, created_at, chosen, decided_at FROM approval ",
        "WHERE $1 = 0 OR decided_at IS NULL ORDER BY id LIMIT 10000"
    );
    db.fetch_all(LIST, args![open])
        .await?
        .iter()
        .map(approval)
        .collect()
}

/// Decides a request. The first decision is final: later calls return it unchanged.
pub(crate) async fn decide(
    db: &mut DbConnection,
    id: ApprovalId,
    option: Option<&str>,
) -> StoreResult<Approval> {
    const DECIDE: Sql = sql!(
        "UPDATE approval SET chosen = $2, decided_at = $3 WHERE id = $1 AND decided_at IS NULL RETURNING id"
    );
    let request = get(db, id).await?.request;
    if let Some(option) = option
        && !request.options.iter().any(|offered| offered.id == option)
    {
        return Err(StoreError::Refused(format!(
            "permission request {id} does not offer {option:?}"
        )));
    }
    let now = db.now();
    let first = !db
        .fetch_returning(DECIDE, args![id, option, now])
        .await?
        .is_empty();
    let decided = get(db, id).await?;
    if first {
        let task = task_row::get(db, decided.request.attempt.task).await?.task;
        broadcast(db, &task, &decided, "approval_decided");
    }
    Ok(decided)
}

/// Withdraws the open requests of a task's attempt, which has ended.
pub(crate) async fn withdraw(db: &mut DbConnection, task: TaskId) -> StoreResult<()> {
    const WITHDRAW: Sql =
        sql!("UPDATE approval SET decided_at = $2 WHERE task_id = $1 AND decided_at IS NULL");
    let now = db.now();
    db.execute(WITHDRAW, args![task, now]).await
}
