//! The event log: events are numbered without gaps in commit order, and can be read from any sequence number.

use windlass_tasks::{
    AttemptRef, Broadcast, EventFilter, LoggedEvent, ProjectId, StoreError, StoreResult, Task,
    TaskId, TaskStatus,
};

use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, decode_error, json, sql};
use crate::task_row::fence_events;

/// Maximum size of an event. The agent handle limits events to far less.
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// Maximum and default number of events per read.
const MAX_PAGE: u32 = 1_000;

/// What the payload of a notification has after the number if the events make no task claimable. Earlier programs do not
/// know it; they read the number from the database then.
pub(crate) const QUIET: &str = " quiet";

macro_rules! append_sqlite {
    () => {
        "UPDATE counter SET value = value + $1 WHERE name = 'event'; \
         INSERT INTO event (seq, at, project_id, task_id, body) \
         SELECT (SELECT value FROM counter WHERE name = 'event') - $1 + new.key + 1, $3, new.value ->> 0, \
         new.value ->> 1, new.value ->> 2 FROM json_each($4) AS new; \
         SELECT value FROM counter WHERE name = 'event'"
    };
}

/// Allocates the next sequence numbers and writes the events under them in one call: all other writers of events wait from here
/// to the end of the transaction. Listeners on PostgreSQL get the last number when it is committed, with what `$2` adds.
///
/// On PostgreSQL the transaction is on disk before a reader sees it, whatever it began with: after a crash of the server,
/// readers on other machines ask for what follows the number that they saw, so no other event may get it.
const APPEND: Sql = Sql {
    sqlite: append_sqlite!(),
    postgres: "WITH numbered AS (UPDATE counter SET value = value + $1 WHERE name = 'event' \
               RETURNING value, CAST(pg_notify('windlass', value || $2) AS TEXT) AS notified, \
               set_config('synchronous_commit', 'on', true) AS durability), \
               logged AS (INSERT INTO event (seq, at, project_id, task_id, body) \
               SELECT numbered.value - $1 + new.number, $3, CAST(new.event->>0 AS BIGINT), CAST(new.event->>1 AS BIGINT), \
               new.event->>2 FROM numbered, json_array_elements(CAST($4 AS JSON)) WITH ORDINALITY AS new (event, number)) \
               SELECT value, notified, durability FROM numbered",
};

/// The same on SQLite as the end of the transaction.
const APPEND_AND_COMMIT: Sql = Sql {
    sqlite: concat!(append_sqlite!(), "; COMMIT"),
    postgres: "",
};

const LAST: Sql = sql!("SELECT value FROM counter WHERE name = 'event'");

/// Writes the queued events under the next sequence numbers and returns the last number.
///
/// The counter row stays locked until the transaction ends. Sequence numbers therefore have no gaps and
/// become visible in order.
pub(crate) async fn assign_seqs(db: &mut DbConnection) -> StoreResult<Option<u64>> {
    let queued = db.take_events();
    if !queued.is_empty() {
        let last = write(db, &queued, APPEND).await?;
        db.set_last_seq(last);
    }
    Ok(db.last_seq())
}

/// Commits, and writes the queued events before. PostgreSQL has written them already. Returns the last number that was
/// assigned in the transaction. After an error it is unknown whether the transaction took effect.
pub(crate) async fn commit(db: &mut DbConnection) -> StoreResult<Option<u64>> {
    let queued = db.take_events();
    if queued.is_empty() {
        db.commit().await?;
    } else {
        let last = write(db, &queued, APPEND_AND_COMMIT).await?;
        db.set_last_seq(last);
    }
    Ok(db.last_seq())
}

/// Writes events under the next sequence numbers and returns the last number.
async fn write(db: &mut DbConnection, messages: &[Broadcast], append: Sql) -> StoreResult<u64> {
    let count = i64::try_from(messages.len()).unwrap_or(i64::MAX);
    let is_quiet = messages.iter().all(is_quiet);
    db.set_quiet(is_quiet);
    let suffix = if is_quiet { QUIET } else { "" };
    let values = args![count, suffix, db.now(), json(&rows(messages)?)?];
    match db.fetch_returning(append, values).await?.first() {
        Some(row) => Ok(number(row.int("value")?)),
        None => Err(decode_error(
            "counter",
            "the row of the event counter is missing",
        )),
    }
}

/// Returns what the statement reads: the project, the task and the body of each event.
fn rows(messages: &[Broadcast]) -> StoreResult<Vec<(ProjectId, Option<TaskId>, String)>> {
    let row = |message: &Broadcast| Ok((message.project_id(), message.task_id(), json(message)?));
    messages.iter().map(row).collect()
}

/// Returns `true` if an event makes no task claimable, and nothing ready to land.
fn is_quiet(message: &Broadcast) -> bool {
    match message {
        Broadcast::TaskStatus { status, .. } => *status == TaskStatus::InProgress,
        Broadcast::TestResult { .. }
        | Broadcast::CorrectionAttempt { .. }
        | Broadcast::AgentEvent { .. } => true,
        // Pauses and landings are among the rest.
        _ => false,
    }
}

fn number(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// Creates the event for a task's status.
pub(crate) fn status(task: &Task, status: TaskStatus, agent_id: &str) -> Broadcast {
    Broadcast::TaskStatus {
        project_id: task.project_id,
        task_id: task.id,
        status,
        agent_id: agent_id.to_owned(),
    }
}

/// Returns the body of a status event for a merged statement, cut at the ids of the project and of the task. `<kind>` in
/// `agent_id` stands for the kind of the task.
pub(crate) fn status_parts(status: TaskStatus, agent_id: &str) -> StoreResult<[String; 3]> {
    let (project, task) = (i64::MIN, i64::MAX);
    let body = json(&Broadcast::TaskStatus {
        project_id: project.into(),
        task_id: task.into(),
        status,
        agent_id: agent_id.to_owned(),
    })?;
    let parts = body.split_once(&project.to_string());
    let parts = parts.and_then(|(before, rest)| {
        let (between, after) = rest.split_once(&task.to_string())?;
        Some([before, between, after].map(str::to_owned))
    });
    parts.ok_or_else(|| decode_error("event", "a status event has no ids"))
}

/// Returns the parts of [`status_parts`] for any status, which `<status>` stands for.
pub(crate) fn any_status_parts(agent_id: &str) -> StoreResult<[String; 3]> {
    let status = TaskStatus::Completed;
    let [before, between, after] = status_parts(status, agent_id)?;
    let after = after.replacen(status.as_str(), "<status>", 1);
    Ok([before, between, after])
}

/// The `agent_id` of the worker of a task, for [`status_parts`].
pub(crate) const WORKER_OF_KIND: &str = "<kind>-worker";

/// Rejects events that exceed the size limit.
pub(crate) fn check(messages: &[Broadcast]) -> StoreResult<()> {
    for message in messages {
        let size = json(message)?.len();
        if size > MAX_MESSAGE_BYTES {
            return Err(StoreError::Refused(format!(
                "the message has {size} bytes; the limit is {MAX_MESSAGE_BYTES}"
            )));
        }
    }
    Ok(())
}

/// Appends events and returns the sequence number of the last one. Without events, returns the last number in
/// the log.
///
/// If an attempt repeats a batch because the reply was lost, this returns the earlier number and appends
/// nothing.
pub(crate) async fn append(
    db: &mut DbConnection,
    attempt: Option<AttemptRef>,
    messages: &[Broadcast],
) -> StoreResult<u64> {
    if let Some(attempt) = attempt {
        fence_events(db, attempt).await?;
        if let Some(last) = find_duplicate(db, messages).await? {
            return Ok(last);
        }
    }
    for message in messages {
        db.queue_event(message.clone());
    }
    match assign_seqs(db).await? {
        Some(last) => Ok(last),
        None => last(db).await,
    }
}

/// Returns the sequence number of these events if they are already the last events of their task.
///
/// Events contain their own numbers, so two identical bodies are the same event. The fence has already waited
/// for any transaction that may still have been writing them.
async fn find_duplicate(db: &mut DbConnection, messages: &[Broadcast]) -> StoreResult<Option<u64>> {
    const BEFORE: Sql =
        sql!("SELECT seq, body FROM event WHERE task_id = $1 ORDER BY seq DESC LIMIT $2");
    let Some(newest) = messages.last() else {
        return Ok(None);
    };
    let Some(task) = newest.task_id() else {
        return Ok(None);
    };
    let mut seq = None;
    // Comparing only the newest event first is nearly always enough to see that the batch is new.
    for count in [1, messages.len()] {
        let limit = u32::try_from(count).unwrap_or(u32::MAX);
        let rows = db.fetch_all(BEFORE, args![task, limit]).await?;
        if rows.len() < count {
            return Ok(None);
        }
        for (row, message) in rows.iter().zip(messages.iter().rev()) {
            if row.text("body")? != json(message)? {
                return Ok(None);
            }
        }
        seq = rows.first().map(|row| row.int("seq")).transpose()?;
    }
    Ok(seq.map(number))
}

/// Returns the last sequence number.
pub(crate) async fn last(db: &mut DbConnection) -> StoreResult<u64> {
    match db.fetch_optional(LAST, args![]).await? {
        Some(row) => Ok(number(row.int("value")?)),
        None => Err(decode_error(
            "counter",
            "the row of the event counter is missing",
        )),
    }
}

/// Reads events from either end of a range.
struct PagedSql {
    oldest: Sql,
    newest: Sql,
}

macro_rules! paged {
    ($only:literal) => {
        PagedSql {
            oldest: paged!($only, "ORDER BY seq LIMIT $3"),
            newest: paged!($only, "ORDER BY seq DESC LIMIT $3"),
        }
    };
    ($only:literal, $order:literal) => {
        sql!(
            "SELECT seq, at, body FROM event WHERE ",
            $only,
            "seq > $1 AND seq < $2 ",
            $order
        )
    };
}

/// Reads events in the order of their sequence numbers.
pub(crate) async fn read(
    db: &mut DbConnection,
    filter: &EventFilter,
) -> StoreResult<Vec<LoggedEvent>> {
    const ALL: PagedSql = paged!("");
    const OF_PROJECT: PagedSql = paged!("project_id = $4 AND ");
    const OF_TASK: PagedSql = paged!("task_id = $4 AND ");
    const OF_BOTH: PagedSql = paged!("task_id = $4 AND project_id = $5 AND ");
    let number = |seq| i64::try_from(seq).unwrap_or(i64::MAX);
    let before = filter.before.map_or(i64::MAX, number);
    let limit = page_size(filter.limit, MAX_PAGE);
    let mut values = args![number(filter.after), before, limit];
    let paged = match (filter.task_id, filter.project_id) {
        (None, None) => ALL,
        (None, Some(project)) => {
            values.extend(args![project]);
            OF_PROJECT
        }
        (Some(task), None) => {
            values.extend(args![task]);
            OF_TASK
        }
        (Some(task), Some(project)) => {
            values.extend(args![task, project]);
            OF_BOTH
        }
    };
    if filter.before.is_none() {
        let rows = db.fetch_all(paged.oldest, values).await?;
        return rows.iter().map(event).collect();
    }
    let rows = db.fetch_all(paged.newest, values).await?;
    rows.iter().rev().map(event).collect()
}

fn event(row: &Row) -> StoreResult<LoggedEvent> {
    Ok(LoggedEvent {
        seq: number(row.int("seq")?),
        at: timestamp(row.int("at")?),
        message: row.json("body")?,
    })
}

/// Returns the number of rows to read: the requested number, at most `max`; zero means `max`.
pub(crate) fn page_size(requested: u32, max: u32) -> u32 {
    if requested == 0 {
        max
    } else {
        requested.min(max)
    }
}

#[cfg(test)]
mod tests {
    use windlass_tasks::WorkerKind;

    use super::WORKER_OF_KIND;

    #[test]
    fn worker_of_a_kind_has_the_agent_id_of_the_kind() {
        for kind in WorkerKind::ALL {
            assert_eq!(
                WORKER_OF_KIND.replace("<kind>", kind.as_str()),
                kind.agent_id()
            );
        }
    }
}
