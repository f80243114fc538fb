//! Adds tasks that have no dependencies, no candidates and need no labels in one statement. `enqueue` has the rules.

use windlass_tasks::{Enqueued, NewTask, StoreResult, TaskStatus};

use super::new_task_row::{NewTaskRow, new_columns};
use crate::connection::DbConnection;
use crate::events::{status, status_parts};
use crate::merge::{MergeOutput, MergedResults};
use crate::sql::{Sql, args, json_rows, merged_sql};
use crate::task_row::{self, columns};

/// Returns `true` if adding these tasks needs no more than one statement. Their projects and issues must exist.
pub(crate) fn can_merge(tasks: &[NewTask]) -> bool {
    let is_plain = |new: &NewTask| {
        new.dependencies.is_empty() && new.best_of.is_none() && new.needs.is_empty()
    };
    matches!(tasks, [one] if is_plain(one))
}

/// Adds tasks, each for its own caller. A task whose idempotency key exists is left to `enqueue`.
pub(crate) async fn add_merged(
    db: &mut DbConnection,
    time: i64,
    tasks: &[&NewTask],
) -> StoreResult<MergedResults> {
    const ADD: Sql = merged_sql!(
        sqlite concat!(
            "INSERT INTO task (",
            new_columns!(),
            ") SELECT value ->> 'project_id', value ->> 'issue_id', value ->> 'title', value ->> 'description', 'pending', ",
            "value ->> 'priority', value ->> 'workflow_step', value ->> 'kind', value ->> 'agent', value ->> 'idempotency_key', ",
            "value ->> 'request', value ->> 'max_attempts', value ->> 'tests', value ->> 'edits_tests', value ->> 'land', ",
            "value ->> 'target', value ->> 'merges', value ->> 'agent_settings', '[]', 0, $1, $1 FROM json_each($5) ",
            "WHERE true ON CONFLICT (idempotency_key) DO NOTHING RETURNING ",
            columns!()
        );
        "changed AS (INSERT INTO task (",
        new_columns!(),
        ") SELECT project_id, issue_id, title, description, 'pending', priority, workflow_step, kind, agent, ",
        "idempotency_key, request, max_attempts, tests, edits_tests, land, target, merges, agent_settings, '[]', 0, now, now ",
        "FROM clock, json_to_recordset(CAST($5 AS JSON)) AS new (project_id BIGINT, issue_id BIGINT, title TEXT, ",
        "description TEXT, priority BIGINT, workflow_step BIGINT, kind TEXT, agent TEXT, idempotency_key TEXT, ",
        "request TEXT, max_attempts BIGINT, tests TEXT, edits_tests BIGINT, land BIGINT, target TEXT, merges BIGINT, ",
        "agent_settings TEXT) ON CONFLICT (idempotency_key) DO NOTHING RETURNING task.*)"
    );
    let rows = tasks.iter().map(|new| NewTaskRow::new(new));
    let rows: Vec<NewTaskRow<'_>> = rows.collect::<StoreResult<_>>()?;
    let Some(rows) = json_rows(&rows)? else {
        return Ok(MergedResults::none(tasks.len()));
    };
    let [before, between, after] = status_parts(TaskStatus::Pending, "worker")?;
    let values = args![time, before, between, after, rows];
    let rows = db.fetch_returning(ADD, values).await?;
    let mut added = Vec::with_capacity(rows.len());
    for row in &rows {
        added.push(task_row::from_row(row)?.task);
    }
    // The ids are in the order of the input.
    added.sort_by_key(|task| task.id);
    if db.is_sqlite() {
        for task in &added {
            db.queue_event(status(task, TaskStatus::Pending, "worker"));
        }
    }
    let mut added = added.into_iter().peekable();
    let outputs = tasks.iter().map(|new| {
        let task = added.next_if(|task| task.idempotency_key == new.idempotency_key)?;
        Some(MergeOutput::Added(Enqueued { task, fresh: true }))
    });
    let outputs = outputs.collect();
    MergedResults::new(outputs, &rows)
}
