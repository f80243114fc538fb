//! Claims the next task. This is `fetch_next_task` of the worker's contract.

use std::time::Duration;

use windlass_tasks::{AttemptRef, Claim, Claimed, StoreResult, TaskStatus};

use crate::connection::DbConnection;
use crate::events::status;
use crate::sql::{Arg, Row, Sql, args, json, or_zero};
use crate::task_row::{self, columns};

/// Workers of a paused project claim only a task that they name. The row of project 0 pauses all.
macro_rules! not_paused {
    () => {
        "AND NOT EXISTS (SELECT 1 FROM worker_pause WHERE worker_pause.project_id IN (0, task.project_id)) "
    };
}

/// Selects the next tasks: highest priority, then lowest step, then lowest id, among the tasks without unmet
/// dependencies. `$kinds` is the text of the kinds. Tasks that another transaction is claiming are skipped. SQLite knows no
/// numbers of rows and would rather sort all tasks with the status than read an index in order, so `$task` names the index.
macro_rules! next_ids {
    ($columns:expr, $task:literal, $waiting:literal, $kinds:literal, $limit:literal, $($only:expr),+) => {
        concat!(
            "SELECT ", $columns, " FROM ", $task, " WHERE status = 'pending' AND ", $waiting, " AND paused = 0 ",
            "AND (", $kinds, " = '' OR ", $kinds, " LIKE '%,' || kind || ',%') ",
            $($only,)+
            " ORDER BY priority, workflow_step, id LIMIT ", $limit
        )
    };
}

/// Selects the next tasks that need no label. Others are not in the index that this uses.
macro_rules! next_plain {
    ($columns:expr, $task:literal, $kinds:literal, $limit:literal, $lock:literal, $($only:expr),+) => {
        concat!(
            next_ids!($columns, $task, "waiting = 0 AND labels = '[]'", $kinds, $limit, $($only),+),
            $lock
        )
    };
}

/// Selects the next tasks, whether they need labels of the worker or none. `$inner` are columns of the task, from which `$columns`
/// are computed.
macro_rules! next_labelled {
    ($columns:expr, $inner:literal, $plain:literal, $labelled:literal, $kinds:literal, $limit:literal, $lock:literal, $has_labels:expr, $($only:expr),+) => {
        concat!(
            "SELECT ", $columns, " FROM (SELECT * FROM (",
            next_plain!($inner, $plain, $kinds, $limit, $lock, $($only),+),
            ") AS plain UNION ALL SELECT * FROM (",
            next_ids!(
                $inner,
                $labelled,
                "waiting IN (0, 1048576) AND labels <> '[]'", $kinds, $limit, "AND ", $has_labels, $($only),+
            ),
            $lock,
            ") AS labelled) AS ready ORDER BY priority, workflow_step, id LIMIT ", $limit
        )
    };
}

/// Gives a task to a worker, until the end of the lease.
macro_rules! start {
    ($now:literal, $lease:literal, $until:literal, $clock:literal) => {
        concat!(
            "UPDATE task SET status = 'in_progress', attempt = attempt + 1, tries = tries + 1, lease_ms = ", $lease,
            ", lease_until = ", $until, ", lease_clock = ", $clock, ", lease_beat = lease_beat + 1, lease_at = ", $now,
            ", cancel_requested = 0, output = NULL, updated_at = ", $now, " "
        )
    };
}

/// Only what the worker can do: `$worker` is its id, and `$agents` a JSON array, of which an empty one stands for any agent.
/// `$list` is this array as a table. The drain is looked up once, the agents only if the task names one.
macro_rules! suits {
    ($worker:literal, $agents:literal, $list:expr) => {
        concat!(
            "AND NOT EXISTS (SELECT 1 FROM worker WHERE worker.id = ",
            $worker,
            " AND worker.drain = 1) ",
            "AND (agent IS NULL OR ",
            $agents,
            " = '[]' OR EXISTS (SELECT 1 FROM ",
            $list,
            " WHERE task.agent = has.value ",
            "OR substr(task.agent, 1, length(has.value) + 1) = has.value || '/')) "
        )
    };
}

macro_rules! suits_sqlite {
    ($worker:literal, $agents:literal) => {
        suits!($worker, $agents, concat!("json_each(", $agents, ") AS has"))
    };
}

macro_rules! suits_postgres {
    ($worker:literal, $agents:literal) => {
        suits!(
            $worker,
            $agents,
            concat!(
                "json_array_elements_text(CAST(",
                $agents,
                " AS JSON)) AS has (value)"
            )
        )
    };
}

/// Only tasks of projects that a machine can reach. A machine without a name reaches all.
macro_rules! reachable_from {
    ($machine:literal) => {
        concat!(
            "AND (", $machine, " = '' OR EXISTS (SELECT 1 FROM project WHERE project.id = task.project_id ",
            "AND (project.remote IS NOT NULL OR (SELECT count(*) FROM checkout WHERE checkout.project_id = project.id ",
            "AND checkout.machine IN (", $machine, ", '')) > 0))) "
        )
    };
}

/// The labels that a task needs are among those of the worker, a JSON array.
macro_rules! has_labels_sqlite {
    ($labels:literal) => {
        concat!(
            "NOT EXISTS (SELECT 1 FROM json_each(task.labels) AS need ",
            "WHERE need.value NOT IN (SELECT has.value FROM json_each(",
            $labels,
            ") AS has)) "
        )
    };
}

macro_rules! has_labels_postgres {
    ($labels:literal) => {
        concat!("CAST(labels AS JSONB) <@ CAST(", $labels, " AS JSONB) ")
    };
}

pub(super) use {
    has_labels_postgres, has_labels_sqlite, next_ids, next_labelled, next_plain, not_paused,
    reachable_from, start, suits, suits_postgres, suits_sqlite,
};

macro_rules! next {
    (sqlite $sqlite:expr; postgres $postgres:expr) => {
        Sql {
            sqlite: concat!(
                start!("$1", "$2", "$4", "$5"), "WHERE id = (", $sqlite, ") RETURNING ", columns!()
            ),
            postgres: concat!(
                start!("$1", "$2", "$4", "$5"), "WHERE id = (", $postgres, ") RETURNING ", columns!()
            ),
        }
    };
    (named $only:literal) => {
        next!(
            sqlite next_ids!("id", "task", "waiting IN (0, 1048576)", "$3", "1", $only);
            postgres concat!(
                next_ids!("id", "task", "waiting IN (0, 1048576)", "$3", "1", $only),
                " FOR NO KEY UPDATE SKIP LOCKED"
            )
        )
    };
    (plain $index:literal, $only:expr) => {
        next!(
            sqlite next_plain!("id", $index, "$3", "1", "", not_paused!(), suits_sqlite!("$6", "$7"), $only);
            postgres next_plain!(
                "id", "task", "$3", "1", " FOR NO KEY UPDATE SKIP LOCKED",
                not_paused!(), suits_postgres!("$6", "$7"), $only
            )
        )
    };
    (labelled $index:literal, $labels:literal, $only:expr) => {
        next!(
            sqlite next_labelled!(
                "id", "id, priority, workflow_step", $index, "task INDEXED BY task_next_labels", "$3", "1", "", has_labels_sqlite!($labels),
                not_paused!(), suits_sqlite!("$6", "$7"), $only
            );
            postgres next_labelled!(
                "id", "id, priority, workflow_step", "task", "task", "$3", "1", " FOR NO KEY UPDATE SKIP LOCKED", has_labels_postgres!($labels),
                not_paused!(), suits_postgres!("$6", "$7"), $only
            )
        )
    };
}

const CLAIM_TASK: Sql = next!(named "AND id = $6");
const CLAIM_TASK_IN_PROJECT: Sql = next!(named "AND id = $6 AND project_id = $7");
const CLAIM_ANY: Sql = next!(plain "task INDEXED BY task_next", reachable_from!("$8"));
const CLAIM_IN_PROJECT: Sql =
    next!(plain "task INDEXED BY task_next_of_project", "AND project_id = $8");
const CLAIM_LABELLED: Sql =
    next!(labelled "task INDEXED BY task_next", "$9", reachable_from!("$8"));
const CLAIM_LABELLED_IN_PROJECT: Sql =
    next!(labelled "task INDEXED BY task_next_of_project", "$9", "AND project_id = $8");

/// What a task that needs labels has in `waiting` in addition to its unmet dependencies. The statements have it as a literal.
pub(crate) const WAITS_FOR_LABELS: i64 = 1_048_576;

/// Minimum and maximum duration of a lease.
const LEASE_RANGE: (Duration, Duration) =
    (Duration::from_millis(1), Duration::from_secs(24 * 60 * 60));

/// Returns the lease in milliseconds, clamped to the allowed range.
pub(crate) fn millis(lease: Duration) -> i64 {
    let (min, max) = LEASE_RANGE;
    i64::try_from(lease.clamp(min, max).as_millis()).unwrap_or(i64::MAX)
}

/// Returns the kinds as the statements compare them.
pub(super) fn kinds_text(claim: &Claim) -> String {
    let kinds: Vec<&str> = claim.kinds.iter().map(|kind| kind.as_str()).collect();
    if kinds.is_empty() {
        String::new()
    } else {
        format!(",{},", kinds.join(","))
    }
}

/// Returns the arguments of `suits!`, the project or the machine, and the labels. A project that the worker names is one that
/// it can reach.
pub(super) fn suits_args(claim: &Claim, machine: &str) -> StoreResult<Vec<Arg>> {
    let agents = match claim.agents.as_deref() {
        None => "[]".to_owned(),
        // No task names an empty agent.
        Some([]) => "[\"\"]".to_owned(),
        Some(agents) => json(&agents)?,
    };
    let mut values = args![or_zero(claim.worker_id), agents];
    match claim.project_id {
        Some(project) => values.extend(args![project]),
        None => values.extend(args![machine]),
    }
    if !claim.labels.is_empty() {
        values.extend(args![json(&claim.labels)?]);
    }
    Ok(values)
}

/// Claims the next task for a worker on a machine.
pub(crate) async fn claim(
    db: &mut DbConnection,
    claim: &Claim,
    machine: &str,
) -> StoreResult<Option<Claimed>> {
    let kinds = kinds_text(claim);
    let lease = millis(claim.lease);
    let time = db.lease_time();
    let mut values = args![db.now(), lease, kinds, time.now + lease, time.clock];
    let next = match (claim.task, claim.project_id) {
        (Some(task), None) => {
            values.extend(args![task]);
            CLAIM_TASK
        }
        (Some(task), Some(project)) => {
            values.extend(args![task, project]);
            CLAIM_TASK_IN_PROJECT
        }
        (None, project) => {
            values.extend(suits_args(claim, machine)?);
            match (project.is_some(), claim.labels.is_empty()) {
                (false, true) => CLAIM_ANY,
                (true, true) => CLAIM_IN_PROJECT,
                (false, false) => CLAIM_LABELLED,
                (true, false) => CLAIM_LABELLED_IN_PROJECT,
            }
        }
    };
    let rows = db.fetch_returning(next, values).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let claimed = claimed(row)?;
    started(db, std::slice::from_ref(&claimed), &claim.worker).await?;
    Ok(Some(claimed))
}

pub(super) fn claimed(row: &Row) -> StoreResult<Claimed> {
    let task = task_row::from_row(row)?.task;
    let attempt = AttemptRef {
        task: task.id,
        number: task.attempt,
    };
    Ok(Claimed { task, attempt })
}

/// Records the attempts of claimed tasks.
pub(super) async fn started(
    db: &mut DbConnection,
    claimed: &[Claimed],
    worker: &str,
) -> StoreResult<()> {
    const INSERT: Sql = Sql {
        sqlite: "INSERT INTO attempt (task_id, number, worker, started_at) \
                 SELECT value ->> 0, value ->> 1, $2, $3 FROM json_each($1)",
        postgres: "INSERT INTO attempt (task_id, number, worker, started_at) \
                   SELECT CAST(value->>0 AS BIGINT), CAST(value->>1 AS BIGINT), $2, $3 \
                   FROM json_array_elements(CAST($1 AS JSON)) AS new (value)",
    };
    if claimed.is_empty() {
        return Ok(());
    }
    let attempts = claimed.iter().map(|claimed| claimed.attempt);
    let attempts: Vec<_> = attempts.map(|new| (new.task, new.number)).collect();
    let now = db.now();
    db.execute(INSERT, args![json(&attempts)?, worker, now])
        .await?;
    for Claimed { task, .. } in claimed {
        db.queue_event(status(task, TaskStatus::InProgress, task.kind.agent_id()));
    }
    Ok(())
}
