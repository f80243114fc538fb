//! Permission requests: asked by one process, decided through another.

use windlass_core::task::{
    Approval, ApprovalDecision, Broadcast, NewApproval, RecordId, StoreError, StoreResult, Task,
    TaskId,
};

use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, decode_error, json, sql};
use crate::task_row::{self, fence};

fn approval(row: &Row) -> StoreResult<Approval> {
    let chosen = row.opt_text("chosen")?;
    let decided = row.opt_int("decided_at")?;
    Ok(Approval {
        id: row.int("id")?,
        asked: row.json("body")?,
        created_at: timestamp(row.int("created_at")?),
        decision: decided.map(|at| ApprovalDecision {
            option: chosen,
            at: timestamp(at),
        }),
    })
}

pub(crate) async fn request(s: &mut DbConnection, new: &NewApproval) -> StoreResult<Approval> {
    const ASK: Sql = sql!(
        "INSERT INTO approval (task_id, attempt, body, created_at) VALUES ($1, $2, $3, $4) ",
        "RETURNING id, body, created_at, chosen, decided_at"
    );
    let task = fence(s, new.attempt).await?.task;
    let values = args![new.attempt.task, new.attempt.number, json(new)?, s.now()];
    let asked = match s.fetch_returning(ASK, values).await?.first() {
        Some(row) => approval(row)?,
        None => return Err(decode_error("approval", "it did not come back")),
    };
    broadcast(s, &task, &asked, "approval_requested");
    Ok(asked)
}

/// Lets those know who wait: for something to decide, or for the decision.
fn broadcast(s: &mut DbConnection, task: &Task, approval: &Approval, what: &str) {
    let end = match approval.decision.as_ref().map(|held| &held.option) {
        None => String::new(),
        Some(Some(option)) => format!(", decided: {option}"),
        Some(None) => ", withdrawn".to_owned(),
    };
    s.queue_event(Broadcast::ActivityUpdate {
        project_id: task.project_id,
        activity_type: what.to_owned(),
        agent_id: approval.asked.agent.clone(),
        message: format!(
            "permission request {}: {}{end}",
            approval.id, approval.asked.tool
        ),
        task_id: Some(task.id),
    });
}

pub(crate) async fn get(s: &mut DbConnection, id: RecordId) -> StoreResult<Approval> {
    const ONE: Sql =
        sql!("SELECT id, body, created_at, chosen, decided_at FROM approval WHERE id = $1");
    match s.fetch_optional(ONE, args![id]).await? {
        Some(row) => approval(&row),
        None => Err(StoreError::not_found("permission request", id)),
    }
}

pub(crate) async fn list(s: &mut DbConnection, open: bool) -> StoreResult<Vec<Approval>> {
    const LIST: Sql = sql!(
        "SELECT id, body, created_at, chosen, decided_at FROM approval ",
        "WHERE $1 = 0 OR decided_at IS NULL ORDER BY id LIMIT 10000"
    );
    s.fetch_all(LIST, args![open])
        .await?
        .iter()
        .map(approval)
        .collect()
}

/// Decides a request, once: the first decision holds, and is what everybody gets.
pub(crate) async fn decide(
    s: &mut DbConnection,
    id: RecordId,
    option: Option<&str>,
) -> StoreResult<Approval> {
    const DECIDE: Sql = sql!(
        "UPDATE approval SET chosen = $2, decided_at = $3 WHERE id = $1 AND decided_at IS NULL RETURNING id"
    );
    let asked = get(s, id).await?.asked;
    if let Some(option) = option
        && !asked.options.iter().any(|offered| offered.id == option)
    {
        return Err(StoreError::Refused(format!(
            "permission request {id} does not offer {option:?}"
        )));
    }
    let now = s.now();
    let first = !s
        .fetch_returning(DECIDE, args![id, option, now])
        .await?
        .is_empty();
    let decided = get(s, id).await?;
    if first {
        let task = task_row::get(s, decided.asked.attempt.task).await?.task;
        broadcast(s, &task, &decided, "approval_decided");
    }
    Ok(decided)
}

/// Withdraws what a task's attempt still asks: it has ended.
pub(crate) async fn withdraw(s: &mut DbConnection, task: TaskId) -> StoreResult<()> {
    const WITHDRAW: Sql =
        sql!("UPDATE approval SET decided_at = $2 WHERE task_id = $1 AND decided_at IS NULL");
    let now = s.now();
    s.execute(WITHDRAW, args![task, now]).await
}
