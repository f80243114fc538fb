//! What attempts are based on: a commit, and the changes of other tasks in it.

use std::collections::{BTreeMap, BTreeSet};

use windlass_tasks::{AttemptRef, BasePart, DependencyChange, StoreResult, TaskId, TaskStatus};

use crate::connection::DbConnection;
use crate::sql::{Row, Sql, args, decode_error, json, sql};
use crate::task_row::{self, fence};

/// Maximum number of tasks that one task builds on.
const MAX_DEPENDENCIES: u32 = 10_000;

/// Records the base of a running attempt.
pub(crate) async fn record_base(
    db: &mut DbConnection,
    attempt: AttemptRef,
    base: &str,
    parts: &[BasePart],
) -> StoreResult<()> {
    fence(db, attempt).await?;
    write_base(db, attempt, base, parts).await
}

/// Writes the base of an attempt.
pub(crate) async fn write_base(
    db: &mut DbConnection,
    attempt: AttemptRef,
    base: &str,
    parts: &[BasePart],
) -> StoreResult<()> {
    const UPDATE: Sql =
        sql!("UPDATE attempt SET base = $3, base_parts = $4 WHERE task_id = $1 AND number = $2");
    let values = args![attempt.task, attempt.number, base, json(&parts)?];
    db.execute(UPDATE, values).await
}

/// Lists the changes of the tasks that this one depends on, each after its own dependencies.
pub(crate) async fn dependency_changes(
    db: &mut DbConnection,
    id: TaskId,
) -> StoreResult<Vec<DependencyChange>> {
    const ALL: Sql = sql!(
        "WITH RECURSIVE reach (id) AS (SELECT on_id FROM dependency WHERE task_id = $1 UNION ",
        "SELECT dependency.on_id FROM dependency JOIN reach ON dependency.task_id = reach.id) ",
        "SELECT task.id, task.title, task.status, task.branch, task.edits_tests, task.landed_commit, ",
        "(SELECT published FROM attempt WHERE task_id = task.id AND ended = 'completed' ",
        "ORDER BY number DESC LIMIT 1) AS published, ",
        "(SELECT string_agg(CAST(on_id AS TEXT), ',' ORDER BY on_id) FROM dependency WHERE task_id = task.id) AS needs ",
        "FROM task JOIN reach ON reach.id = task.id ORDER BY task.id LIMIT $2"
    );
    let direct = task_row::get(db, id).await?.task.dependencies;
    let mut found = BTreeMap::new();
    for row in &db.fetch_all(ALL, args![id, MAX_DEPENDENCIES]).await? {
        let (change, needs) = dependency(row)?;
        found.insert(change.task, (change, needs));
    }
    Ok(in_order(&direct, found))
}

fn dependency(row: &Row) -> StoreResult<(DependencyChange, Vec<TaskId>)> {
    let needs = row.opt_text("needs")?.unwrap_or_default();
    let needs = needs.split(',').filter(|part| !part.is_empty());
    let needs: Result<Vec<TaskId>, _> = needs.map(str::parse).collect();
    let change = DependencyChange {
        task: row.id("id")?,
        title: row.text("title")?,
        completed: row.text("status")? == TaskStatus::Completed.as_str(),
        commit: row.opt_text("published")?,
        branch: row.opt_text("branch")?,
        landed: row.opt_text("landed_commit")?,
        edits_tests: row.flag("edits_tests")?,
    };
    Ok((
        change,
        needs.map_err(|error| decode_error("dependency", error))?,
    ))
}

/// Sorts the dependencies so that each follows those that it depends on itself.
fn in_order(
    direct: &[TaskId],
    mut found: BTreeMap<TaskId, (DependencyChange, Vec<TaskId>)>,
) -> Vec<DependencyChange> {
    let mut ordered = Vec::with_capacity(found.len());
    // The tasks to visit, the next one last. A task is visited again after its dependencies.
    let mut visits: Vec<(TaskId, bool)> = direct.iter().rev().map(|id| (*id, false)).collect();
    let mut seen = BTreeSet::new();
    while let Some((id, is_ready)) = visits.pop() {
        if is_ready {
            ordered.extend(found.remove(&id).map(|(change, _)| change));
        } else if seen.insert(id) {
            visits.push((id, true));
            let needs = found.get(&id).map(|(_, needs)| needs.as_slice());
            let needs = needs.unwrap_or_default().iter().rev();
            visits.extend(needs.map(|on| (*on, false)));
        }
    }
    ordered
}
