//! Permission requests: asked by one process, decided through another.

use windlass_core::task::{
    Approval, ApprovalDecision, Broadcast, NewApproval, RecordId, StoreError, StoreResult, Task,
    TaskId,
};

use crate::session::{Session, moment};
use crate::sql::{Row, Sql, args, json, sql, unreadable};
use crate::task::{self, fence};

fn approval(row: &Row) -> StoreResult<Approval> {
    let chosen = row.maybe_text("chosen")?;
    let decided = row.maybe_int("decided_at")?;
    Ok(Approval {
        id: row.int("id")?,
        asked: row.json("body")?,
        created_at: moment(row.int("created_at")?),
        decision: decided.map(|at| ApprovalDecision {
            option: chosen,
            at: moment(at),
        }),
    })
}

pub(crate) async fn ask(s: &mut Session, new: &NewApproval) -> StoreResult<Approval> {
    const ASK: Sql = sql!(
        "INSERT INTO approval (task_id, attempt, body, created_at) VALUES ($1, $2, $3, $4) ",
        "RETURNING id, body, created_at, chosen, decided_at"
    );
    let task = fence(s, new.attempt).await?.task;
    let values = args![new.attempt.task, new.attempt.number, json(new)?, s.now()];
    let asked = match s.change(ASK, values).await?.first() {
        Some(row) => approval(row)?,
        None => return Err(unreadable("approval", "it did not come back")),
    };
    tell(s, &task, &asked, "approval_requested");
    Ok(asked)
}

/// Lets those know who wait: for something to decide, or for the decision.
fn tell(s: &mut Session, task: &Task, approval: &Approval, what: &str) {
    let end = match approval.decision.as_ref().map(|held| &held.option) {
        None => String::new(),
        Some(Some(option)) => format!(", decided: {option}"),
        Some(None) => ", withdrawn".to_owned(),
    };
    s.tell(Broadcast::ActivityUpdate {
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

pub(crate) async fn get(s: &mut Session, id: RecordId) -> StoreResult<Approval> {
    const ONE: Sql =
        sql!("SELECT id, body, created_at, chosen, decided_at FROM approval WHERE id = $1");
    match s.row(ONE, args![id]).await? {
        Some(row) => approval(&row),
        None => Err(StoreError::not_found("permission request", id)),
    }
}

pub(crate) async fn list(s: &mut Session, open: bool) -> StoreResult<Vec<Approval>> {
    const LIST: Sql = sql!(
        "SELECT id, body, created_at, chosen, decided_at FROM approval ",
        "WHERE $1 = 0 OR decided_at IS NULL ORDER BY id LIMIT 10000"
    );
    s.rows(LIST, args![open])
        .await?
        .iter()
        .map(approval)
        .collect()
}

/// Decides a request, once: the first decision holds, and is what everybody gets.
pub(crate) async fn decide(
    s: &mut Session,
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
    let first = !s.change(DECIDE, args![id, option, now]).await?.is_empty();
    let decided = get(s, id).await?;
    if first {
        let task = task::get(s, decided.asked.attempt.task).await?.task;
        tell(s, &task, &decided, "approval_decided");
    }
    Ok(decided)
}

/// Withdraws what a task's attempt still asks: it has ended.
pub(crate) async fn withdraw(s: &mut Session, task: TaskId) -> StoreResult<()> {
    const WITHDRAW: Sql =
        sql!("UPDATE approval SET decided_at = $2 WHERE task_id = $1 AND decided_at IS NULL");
    let now = s.now();
    s.write(WITHDRAW, args![task, now]).await
}
