//! Makes completed tasks outdated if a change in their base was replaced.

use std::collections::BTreeSet;

use windlass_tasks::{AttemptRef, BasePart, Proof, StoreResult, Task, TaskId, TaskStatus};

use super::bases::{dependency_changes, write_base};
use super::{dependents, tasks};
use crate::connection::DbConnection;
use crate::sql::{Sql, args, sql};
use crate::task_row;

/// Maximum number of tasks that build on one task.
const MAX_DEPENDENTS: u32 = 10_000;

/// Records what a completed attempt published, and makes the completed tasks outdated that build on another
/// commit of the task. The task itself is outdated if its base was replaced meanwhile; then this returns `true`.
pub(crate) async fn published(
    db: &mut DbConnection,
    attempt: AttemptRef,
    proof: Option<&Proof>,
) -> StoreResult<bool> {
    const PUBLISHED: Sql = sql!(
        "UPDATE attempt SET published = coalesce($3, change_commit) WHERE task_id = $1 AND number = $2 ",
        "RETURNING published, base_parts"
    );
    if let Some(proof) = proof {
        // The proof may be that of an earlier attempt, which had another base.
        write_base(db, attempt, &proof.base, &proof.base_parts).await?;
    }
    let commit = proof.map(|proof| proof.commit.as_str());
    let values = args![attempt.task, attempt.number, commit];
    let rows = db.fetch_returning(PUBLISHED, values).await?;
    let Some(row) = rows.first() else {
        return Ok(false);
    };
    let parts: Vec<BasePart> = row.json("base_parts")?;
    let commit = row.opt_text("published")?;
    outdate_dependents(db, attempt.task, commit.as_deref()).await?;
    if parts.is_empty() {
        return Ok(false);
    }
    let known = dependency_changes(db, attempt.task).await?;
    let replaced = parts.iter().find(|part| {
        let mut known = known.iter().filter(|known| known.completed);
        // A task that an earlier version completed has no recorded commit.
        known.any(|known| {
            let differs = |commit: &String| *commit != part.commit;
            known.task == part.task && known.commit.as_ref().is_some_and(differs)
        })
    });
    if let Some(part) = replaced {
        let row = task_row::get(db, attempt.task).await?;
        mark_outdated(db, &row.task, &replaced_reason(part.task)).await?;
        outdate_dependents(db, attempt.task, None).await?;
    }
    Ok(replaced.is_some())
}

fn replaced_reason(task: TaskId) -> String {
    format!("outdated: the change of task {task} was replaced after this one was proved")
}

/// Makes the completed tasks outdated that build on a commit of the task other than `current`.
pub(crate) async fn outdate_dependents(
    db: &mut DbConnection,
    id: TaskId,
    current: Option<&str>,
) -> StoreResult<()> {
    const COMPLETED: Sql = sql!(
        "WITH RECURSIVE reach (id) AS (SELECT task_id FROM dependency WHERE on_id = $1 UNION ",
        "SELECT dependency.task_id FROM dependency JOIN reach ON dependency.on_id = reach.id) ",
        "SELECT task.id, (SELECT base_parts FROM attempt WHERE task_id = task.id AND ended = 'completed' ",
        "ORDER BY number DESC LIMIT 1) AS base_parts ",
        "FROM task JOIN reach ON reach.id = task.id WHERE task.status = 'completed' AND task.landed_commit IS NULL ORDER BY task.id LIMIT $2"
    );
    let rows = db.fetch_all(COMPLETED, args![id, MAX_DEPENDENTS]).await?;
    // The tasks based on a change that will be replaced.
    let mut replaced = BTreeSet::new();
    let mut left: Vec<(TaskId, Vec<BasePart>)> = Vec::new();
    for row in &rows {
        if row.opt_text("base_parts")?.is_some() {
            left.push((row.id("id")?, row.json("base_parts")?));
        }
    }
    loop {
        let is_outdated = |parts: &[BasePart]| {
            parts.iter().any(|part| {
                let differs = part.task == id && Some(part.commit.as_str()) != current;
                differs || replaced.contains(&part.task)
            })
        };
        let (outdated, rest): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|(_, parts)| is_outdated(parts));
        if outdated.is_empty() {
            return Ok(());
        }
        for (task, _) in outdated {
            replaced.insert(task);
            let row = task_row::get_for_update(db, task).await?;
            if row.task.status == TaskStatus::Completed {
                mark_outdated(db, &row.task, &replaced_reason(id)).await?;
            }
        }
        left = rest;
    }
}

/// Makes one completed task outdated: pending again, with its change.
pub(crate) async fn mark_outdated(
    db: &mut DbConnection,
    task: &Task,
    reason: &str,
) -> StoreResult<()> {
    const OUTDATED: Sql = sql!("UPDATE task SET outdated = 1, output = $2 WHERE id = $1");
    tasks::reset_to_pending(db, task, true).await?;
    // A dependency that failed meanwhile has given its own reason.
    let row = task_row::get(db, task.id).await?;
    let reason = match row.task.output {
        Some(blocked) => blocked,
        None => reason.to_owned(),
    };
    db.execute(OUTDATED, args![task.id, reason]).await?;
    dependents::update_dependents(db, vec![task.id]).await
}
