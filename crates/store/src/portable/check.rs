//! The rules that the records of a store follow, each as a query for what breaks it.

use windlass_tasks::StoreResult;

use super::dump::{begin_snapshot, end_snapshot};
use crate::connection::DbConnection;
use crate::pools::Pools;
use crate::sql::{Sql, args, sql};

/// Something that is wrong in a store.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// The broken rule.
    pub rule: String,
    /// How many records break it.
    pub count: u64,
    /// The first of them.
    pub example: String,
}

/// A rule, and the query for the records that break it.
const RULES: &[(&str, Sql)] = &[
    (
        "the counter of events has the number of the last event",
        sql!(
            "SELECT 'counter ' || value AS id FROM counter WHERE name = 'event' ",
            "AND value < (SELECT coalesce(max(seq), 0) FROM event)"
        ),
    ),
    (
        "events are numbered without gaps",
        sql!(
            "SELECT 'event ' || seq AS id FROM event WHERE seq > (SELECT min(seq) FROM event) ",
            "AND NOT EXISTS (SELECT 1 FROM event AS previous WHERE previous.seq = event.seq - 1)"
        ),
    ),
    (
        "a task has a known status",
        sql!(
            "SELECT 'task ' || id AS id FROM task WHERE status NOT IN ",
            "('pending', 'in_progress', 'blocked', 'completed', 'failed', 'cancelled')"
        ),
    ),
    (
        "a task that is in progress has an open attempt",
        sql!(
            "SELECT 'task ' || id AS id FROM task WHERE status = 'in_progress' AND NOT EXISTS ",
            "(SELECT 1 FROM attempt WHERE task_id = task.id AND number = task.attempt AND ended_at IS NULL)"
        ),
    ),
    (
        "an open attempt is the last one of a task that is in progress",
        sql!(
            "SELECT 'task ' || task_id || ', attempt ' || number AS id FROM attempt WHERE ended_at IS NULL ",
            "AND NOT EXISTS (SELECT 1 FROM task WHERE id = attempt.task_id AND attempt = attempt.number ",
            "AND status = 'in_progress')"
        ),
    ),
    (
        "no attempt is newer than its task",
        sql!(
            "SELECT 'task ' || task_id || ', attempt ' || number AS id FROM attempt ",
            "WHERE number > (SELECT attempt FROM task WHERE id = attempt.task_id)"
        ),
    ),
    (
        "no proof is newer than its task",
        sql!(
            "SELECT 'proof of task ' || task_id AS id FROM proof ",
            "WHERE attempt > (SELECT attempt FROM task WHERE id = proof.task_id)"
        ),
    ),
    (
        "a task that can be claimed waits for no dependency",
        sql!(
            "SELECT 'task ' || task.id AS id FROM task JOIN dependency ON task_id = task.id ",
            "JOIN task AS other ON other.id = on_id ",
            "WHERE task.status = 'pending' AND task.waiting IN (0, 1048576) AND other.status <> 'completed'"
        ),
    ),
    (
        "an event belongs to a task of the store",
        sql!(
            "SELECT 'event ' || seq AS id FROM event WHERE task_id IS NOT NULL ",
            "AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = event.task_id)"
        ),
    ),
    (
        "a trace belongs to a task of the store",
        sql!(
            "SELECT 'trace ' || id AS id FROM trace WHERE task_id IS NOT NULL ",
            "AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = trace.task_id)"
        ),
    ),
];

/// Returns the rules that are broken.
pub(super) async fn find_problems(pools: &Pools) -> StoreResult<Vec<Problem>> {
    let mut db = begin_snapshot(pools).await?;
    let problems = read_problems(&mut db).await;
    end_snapshot(db).await;
    problems
}

async fn read_problems(db: &mut DbConnection) -> StoreResult<Vec<Problem>> {
    let mut problems = Vec::new();
    if db.is_sqlite() {
        let pages = sql!(
            "SELECT integrity_check AS id FROM pragma_integrity_check WHERE integrity_check <> 'ok'"
        );
        let references = sql!(
            "SELECT \"table\" || ' ' || coalesce(rowid, 0) AS id FROM pragma_foreign_key_check"
        );
        find(db, "every page and index is sound", pages, &mut problems).await?;
        find(
            db,
            "every reference has its record",
            references,
            &mut problems,
        )
        .await?;
    }
    for (rule, query) in RULES {
        find(db, rule, *query, &mut problems).await?;
    }
    Ok(problems)
}

async fn find(
    db: &mut DbConnection,
    rule: &str,
    query: Sql,
    problems: &mut Vec<Problem>,
) -> StoreResult<()> {
    let text = if db.is_sqlite() {
        query.sqlite
    } else {
        query.postgres
    };
    let text = format!("SELECT count(*) AS n, min(id) AS example FROM ({text}) AS broken");
    for row in db.fetch_built(text, args![]).await? {
        let count: u64 = row.int_as("n")?;
        if count > 0 {
            problems.push(Problem {
                rule: rule.to_owned(),
                count,
                example: row.opt_text("example")?.unwrap_or_default(),
            });
        }
    }
    Ok(())
}
