//! Claims tasks in one statement, on PostgreSQL together with the ends of attempts. `claim` and `finish` have the rules.

use windlass_tasks::{Claim, Claimed, StoreResult, Task, TaskStatus};

use super::claim::{
    self, has_labels_postgres, has_labels_sqlite, next_ids, next_labelled, next_plain, not_paused,
    reachable_from, start, started, suits, suits_postgres, suits_sqlite,
};
use super::complete::{self, completing};
use crate::connection::DbConnection;
use crate::events::{WORKER_OF_KIND, any_status_parts, status_parts};
use crate::merge::{CompletedAttempt, MergeOutput, MergedResults};
use crate::sql::{Arg, Sql, args, merged_clock, merged_sql};
use crate::task_row::columns;

/// Selects the next tasks on PostgreSQL. Like `$columns`, all macros have their own arguments first.
macro_rules! picked {
    ($columns:expr; plain $only:expr) => {
        next_plain!(
            $columns,
            "task",
            "$7",
            "$10",
            " FOR NO KEY UPDATE SKIP LOCKED",
            not_paused!(),
            suits_postgres!("$11", "$12"),
            $only
        )
    };
    ($columns:expr; labelled $inner:literal, $labels:literal, $only:expr) => {
        next_labelled!(
            $columns,
            $inner,
            "task",
            "task",
            "$7",
            "$10",
            " FOR NO KEY UPDATE SKIP LOCKED",
            has_labels_postgres!($labels),
            not_paused!(),
            suits_postgres!("$11", "$12"),
            $only
        )
    };
}

/// Claims several tasks.
macro_rules! claims {
    (plain $index:literal, $only:expr) => {
        claims!(
            sqlite next_plain!(
                "id", $index, "$7", "$10", "", not_paused!(), suits_sqlite!("$11", "$12"), $only
            );
            postgres picked!("id"; plain $only)
        )
    };
    (labelled $index:literal, $labels:literal, $only:expr) => {
        claims!(
            sqlite next_labelled!(
                "id", "id, priority, workflow_step", $index, "task INDEXED BY task_next_labels", "$7", "$10", "",
                has_labels_sqlite!($labels), not_paused!(), suits_sqlite!("$11", "$12"), $only
            );
            postgres picked!("id"; labelled "id, priority, workflow_step", $labels, $only)
        )
    };
    (sqlite $sqlite:expr; postgres $picked:expr) => {
        merged_sql!(
            sqlite concat!(
                start!("$1", "$5", "$6", "$8"), "WHERE id IN (", $sqlite, ") RETURNING ", columns!()
            );
            notify "value || ' quiet'";
            "picked AS MATERIALIZED (",
            $picked,
            "), changed AS (",
            start!("clock.now", "$5", "$6", "$8"),
            "FROM picked, clock WHERE task.id = picked.id RETURNING task.*), ",
            "opened AS (INSERT INTO attempt (task_id, number, worker, started_at) ",
            "SELECT id, attempt, $9, clock.now FROM changed, clock)"
        )
    };
}

/// What a claimed task has afterwards, and what it keeps.
macro_rules! claimed_columns {
    () => {
        "id, project_id, kind, attempt + 1 AS attempt, tries + 1 AS tries, lease_beat + 1 AS lease_beat, branch, unverified, \
         needs_review, usage, review, outdated, completed_at"
    };
}

/// Completes attempts and claims several tasks. No task is among both: a completed one was in progress, a claimed one was
/// pending. `changed` has the new values of both, so that one update writes them all.
macro_rules! ends_and_claims {
    ($input:literal, $picked:expr) => {
        Sql {
            sqlite: "",
            postgres: concat!(
                "WITH ",
                merged_clock!(),
                ", ",
                completing!($input),
                ", picked AS MATERIALIZED (",
                $picked,
                "), opened AS (INSERT INTO attempt (task_id, number, worker, started_at) ",
                "SELECT id, attempt, $9, clock.now FROM picked, clock), ",
                "changed (place, of_project, of_task, of_kind, new_status, new_attempt, new_tries, new_lease_ms, new_until, ",
                "new_clock, new_beat, new_at, new_output, new_branch, new_unverified, new_needs_review, new_usage, new_review, ",
                "new_outdated, new_completed) AS MATERIALIZED (SELECT row_number() OVER (), * FROM (",
                "SELECT project_id, id, kind, 'completed', attempt, tries, lease_ms, 0, lease_clock, lease_beat, lease_at, ",
                "output, branch, unverified, needs_review, total, NULL, 0, now FROM held ",
                "UNION ALL SELECT project_id, id, kind, 'in_progress', attempt, tries, $5, $6, $8, lease_beat, clock.now, ",
                "NULL, branch, unverified, needs_review, usage, review, outdated, completed_at FROM picked, clock) AS new), ",
                "numbered AS (UPDATE counter SET value = value + (SELECT count(*) FROM changed) ",
                "WHERE name = 'event' AND EXISTS (SELECT 1 FROM changed) ",
                "RETURNING value, CAST(pg_notify('windlass', CAST(value AS TEXT)) AS TEXT)), ",
                "logged AS (INSERT INTO event (seq, at, project_id, task_id, body) ",
                "SELECT value - (SELECT count(*) FROM changed) + place, now, of_project, of_task, $2 || of_project || $3 || of_task ",
                "|| replace(replace($4, '<status>', new_status), '<kind>', of_kind) FROM changed, numbered, clock) ",
                "UPDATE task SET status = new_status, attempt = new_attempt, tries = new_tries, lease_ms = new_lease_ms, ",
                "lease_until = new_until, lease_clock = new_clock, lease_beat = new_beat, lease_at = new_at, output = new_output, ",
                "branch = new_branch, unverified = new_unverified, needs_review = new_needs_review, usage = new_usage, ",
                "review = new_review, outdated = new_outdated, completed_at = new_completed, cancel_requested = 0, ",
                "updated_at = now FROM changed, numbered, clock WHERE id = of_task RETURNING ",
                columns!(),
                ", numbered.value AS last_seq"
            ),
        }
    };
}

/// The statements for one kind of claim.
struct MergedSql {
    claims: Sql,
    ends_and_claims: Sql,
}

const ANY: MergedSql = MergedSql {
    claims: claims!(plain "task INDEXED BY task_next", reachable_from!("$13")),
    ends_and_claims: ends_and_claims!(
        "$14",
        picked!(claimed_columns!(); plain reachable_from!("$13"))
    ),
};
const IN_PROJECT: MergedSql = MergedSql {
    claims: claims!(plain "task INDEXED BY task_next_of_project", "AND project_id = $13"),
    ends_and_claims: ends_and_claims!(
        "$14",
        picked!(claimed_columns!(); plain "AND project_id = $13")
    ),
};
const LABELLED: MergedSql = MergedSql {
    claims: claims!(labelled "task INDEXED BY task_next", "$14", reachable_from!("$13")),
    ends_and_claims: ends_and_claims!(
        "$15",
        picked!(claimed_columns!(); labelled "*", "$14", reachable_from!("$13"))
    ),
};
const LABELLED_IN_PROJECT: MergedSql = MergedSql {
    claims: claims!(labelled "task INDEXED BY task_next_of_project", "$14", "AND project_id = $13"),
    ends_and_claims: ends_and_claims!(
        "$15",
        picked!(claimed_columns!(); labelled "*", "$14", "AND project_id = $13")
    ),
};

/// Callers with the same claim, which names no task.
pub(crate) struct SameClaims<'a> {
    pub(crate) claim: &'a Claim,
    pub(crate) machine: &'a str,
    pub(crate) count: usize,
}

impl SameClaims<'_> {
    fn sql(&self) -> MergedSql {
        let claim = self.claim;
        match (claim.project_id.is_some(), claim.labels.is_empty()) {
            (false, true) => ANY,
            (true, true) => IN_PROJECT,
            (false, false) => LABELLED,
            (true, false) => LABELLED_IN_PROJECT,
        }
    }

    /// Returns the arguments of both statements, but for the completed attempts.
    fn args(&self, db: &DbConnection, time: i64, parts: [String; 3]) -> StoreResult<Vec<Arg>> {
        let claim = self.claim;
        let [before, between, after] = parts;
        let lease = claim::millis(claim.lease);
        let lease_time = db.lease_time();
        let until = lease_time.now + lease;
        let limit = u32::try_from(self.count).unwrap_or(u32::MAX);
        let mut values = args![
            time,
            before,
            between,
            after,
            lease,
            until,
            claim::kinds_text(claim),
            lease_time.clock,
            claim.worker.as_str(),
            limit,
        ];
        values.extend(claim::suits_args(claim, self.machine)?);
        Ok(values)
    }

    /// Returns the result of each caller.
    fn outputs(&self, mut found: Vec<Claimed>) -> Vec<Option<MergeOutput>> {
        found.sort_by_key(|Claimed { task, .. }| (task.priority, task.workflow_step, task.id));
        let found = found
            .into_iter()
            .map(|claimed| Some(MergeOutput::Claimed(Some(claimed))));
        let mut outputs: Vec<Option<MergeOutput>> = found.collect();
        outputs.resize_with(self.count, || Some(MergeOutput::Claimed(None)));
        outputs
    }
}

/// Claims up to as many tasks as there are callers, in one statement.
pub(crate) async fn claim_merged(
    db: &mut DbConnection,
    time: i64,
    claims: SameClaims<'_>,
) -> StoreResult<MergedResults> {
    let parts = status_parts(TaskStatus::InProgress, WORKER_OF_KIND)?;
    let values = claims.args(db, time, parts)?;
    let rows = db.fetch_returning(claims.sql().claims, values).await?;
    let found = rows.iter().map(claim::claimed);
    let found: Vec<Claimed> = found.collect::<StoreResult<_>>()?;
    if db.is_sqlite() {
        started(db, &found, &claims.claim.worker).await?;
    }
    MergedResults::new(claims.outputs(found), &rows)
}

/// Completes attempts and claims up to as many tasks as there are callers, in one statement of PostgreSQL. The results of the
/// ends are first.
pub(crate) async fn end_and_claim_merged(
    db: &mut DbConnection,
    time: i64,
    ends: &[&CompletedAttempt],
    claims: SameClaims<'_>,
) -> StoreResult<MergedResults> {
    let Some(input) = complete::input(ends)? else {
        return Ok(MergedResults::none(ends.len() + claims.count));
    };
    let mut values = claims.args(db, time, any_status_parts(WORKER_OF_KIND)?)?;
    values.extend(args![input]);
    let sql = claims.sql().ends_and_claims;
    let rows = db.fetch_returning(sql, values).await?;
    let mut completed: Vec<Task> = Vec::new();
    let mut found = Vec::new();
    for row in &rows {
        let claimed = claim::claimed(row)?;
        match claimed.task.status {
            TaskStatus::Completed => completed.push(claimed.task),
            _ => found.push(claimed),
        }
    }
    let mut outputs: Vec<Option<MergeOutput>> = complete::outputs(ends, &completed).collect();
    outputs.extend(claims.outputs(found));
    MergedResults::new(outputs, &rows)
}
