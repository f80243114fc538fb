//! Adds one task that has no dependencies and no candidates and needs no labels, in one call to the database, which is its own
//! transaction. `enqueue` has the rules.

use windlass_core::Usage;
use windlass_tasks::{Enqueued, NewTask, StoreResult, Task, TaskId, TaskStatus};

use super::new_task_row::{NewTaskRow, new_columns};
use crate::connection::{DbConnection, timestamp};
use crate::events::status_parts;
use crate::lock_wait::LockWait;
use crate::merge::{MergeOutput, MergedResults};
use crate::sql::{Sql, args, merged_clock};

/// The values of `new_columns!`. `$1` is the offset of the database's clock, and `$2` to `$4` are the event's body.
macro_rules! new_values {
    () => {
        "$5, $6, $7, $8, 'pending', $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, '[]', 0, clock.now, clock.now "
    };
}

/// It returns what the task is given: its id and its time. All else is known, and a row of a task has many columns.
///
/// On SQLite it writes nothing if this program, with its schema version as `$22`, is too old for the store, or if the store has
/// no counter of events: the operation then fails with the reason.
const ADD: Sql = Sql {
    sqlite: concat!(
        "BEGIN IMMEDIATE; INSERT INTO task (",
        new_columns!(),
        ") SELECT ",
        new_values!(),
        "FROM (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) + $1 AS now) AS clock ",
        "WHERE EXISTS (SELECT 1 FROM counter WHERE name = 'event') ",
        "AND NOT EXISTS (SELECT 1 FROM counter WHERE name = 'oldest_program' AND value > $22) ",
        "ON CONFLICT (idempotency_key) DO NOTHING; ",
        "UPDATE counter SET value = value + 1 WHERE name = 'event' AND changes() = 1; ",
        "INSERT INTO event (seq, at, project_id, task_id, body) SELECT counter.value, task.created_at, task.project_id, task.id, ",
        "$2 || task.project_id || $3 || task.id || $4 FROM counter, task ",
        "WHERE counter.name = 'event' AND task.id = last_insert_rowid() AND changes() = 1 RETURNING seq, at, task_id; ",
        "COMMIT"
    ),
    postgres: concat!(
        "WITH ",
        merged_clock!(),
        ", changed AS (INSERT INTO task (",
        new_columns!(),
        ") SELECT ",
        new_values!(),
        "FROM clock ON CONFLICT (idempotency_key) DO NOTHING RETURNING id, project_id, created_at), ",
        "numbered AS (UPDATE counter SET value = value + 1 WHERE name = 'event' AND EXISTS (SELECT 1 FROM changed) ",
        "RETURNING value, CAST(pg_notify('windlass', CAST(value AS TEXT)) AS TEXT)) ",
        "INSERT INTO event (seq, at, project_id, task_id, body) SELECT value, created_at, project_id, id, ",
        "$2 || project_id || $3 || id || $4 FROM changed, numbered RETURNING seq, at, task_id"
    ),
};

/// Adds a task. One whose idempotency key exists is left to `enqueue`, and one with a NUL character, which it replaces.
pub(crate) async fn add_one(
    db: &mut DbConnection,
    skew: i64,
    new: &NewTask,
) -> StoreResult<MergedResults> {
    if has_nul(new) {
        return Ok(MergedResults::none(1));
    }
    let [before, between, after] = status_parts(TaskStatus::Pending, "worker")?;
    let mut values = args![skew, before, between, after];
    values.extend(NewTaskRow::new(new)?.args());
    if db.is_sqlite() {
        values.extend(args![db.schema_version()]);
    }
    let wait = LockWait::start();
    let rows = loop {
        db.begin_transaction();
        let rows = db.fetch_returning(ADD, values.clone()).await;
        if !(db.is_sqlite() && wait.goes_on(&rows)) {
            break rows?;
        }
    };
    let Some(row) = rows.first() else {
        return Ok(MergedResults::none(1));
    };
    let task = added(new, row.id("task_id")?, row.int("at")?);
    let added = MergeOutput::Added(Enqueued { task, fresh: true });
    Ok(MergedResults {
        outputs: vec![Some(added)],
        last_seq: u64::try_from(row.int("seq")?).ok(),
    })
}

/// Returns `true` if a text of the task has a NUL character. Those in JSON are escaped.
fn has_nul(new: &NewTask) -> bool {
    let texts = [
        Some(new.title.as_str()),
        Some(new.description.as_str()),
        new.agent.as_deref(),
        new.target.as_deref(),
        new.idempotency_key.as_deref(),
    ];
    texts.into_iter().flatten().any(|text| text.contains('\0'))
}

/// Returns the task as it is read from its row.
fn added(new: &NewTask, id: TaskId, at: i64) -> Task {
    let at = timestamp(at);
    Task {
        id,
        project_id: new.project_id,
        issue_id: new.issue_id,
        title: new.title.clone(),
        description: new.description.clone(),
        status: TaskStatus::Pending,
        priority: new.priority,
        workflow_step: new.workflow_step,
        dependencies: Vec::new(),
        kind: new.kind,
        agent: new.agent.clone(),
        agent_settings: new.agent_settings.clone(),
        needs: Vec::new(),
        waiting: None,
        idempotency_key: new.idempotency_key.clone(),
        attempt: 0,
        max_attempts: new.max_attempts,
        output: None,
        unverified: false,
        needs_review: false,
        review: None,
        tests: new.tests.clone(),
        edits_tests: new.edits_tests,
        fresh: false,
        paused: false,
        best_of: None,
        candidate_of: None,
        land: new.land,
        landed: None,
        target: new.target.clone(),
        outdated: false,
        merges: new.merges,
        branch: None,
        usage: Usage::default(),
        created_at: at,
        updated_at: at,
        completed_at: None,
    }
}
