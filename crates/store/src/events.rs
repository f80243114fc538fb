//! Messages: numbered without gaps, in the order in which they were committed, and read from any number on.

use std::sync::LazyLock;

use windlass_core::task::{
    AttemptRef, Broadcast, EventFilter, LoggedEvent, StoreError, StoreResult, Task, TaskStatus,
};

use crate::connection::{DbConnection, timestamp};
use crate::sql::{Arg, Row, Sql, args, decode_error, json, sql};
use crate::task_row::fence_events;

/// The longest message. The handle makes events far smaller.
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// How many messages are read at once, at most and unless told otherwise.
const MAX_PAGE: u32 = 1_000;

/// Takes the next numbers. PostgreSQL tells whoever listens, when the transaction is committed.
const ALLOCATE_SEQS: Sql = sql!(
    "UPDATE counter SET value = value + $1 WHERE name = 'event' RETURNING value";
    lock ", CAST(pg_notify('windlass', '') AS TEXT) AS told"
);

const LAST: Sql = sql!("SELECT value FROM counter WHERE name = 'event'");

/// One statement for each number of rows: 1, 2, 4 … 64.
static INSERT: LazyLock<Vec<String>> =
    LazyLock::new(|| (0..7).map(|power| insert(1 << power)).collect());

fn insert(rows: usize) -> String {
    let row = |row: usize| {
        let first = row * 5;
        format!(
            "(${}, ${}, ${}, ${}, ${})",
            first + 1,
            first + 2,
            first + 3,
            first + 4,
            first + 5
        )
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!(
        "INSERT INTO event (seq, at, project_id, task_id, body) VALUES {}",
        rows.join(", ")
    )
}

/// Writes messages under the next numbers, and gives the last.
pub(crate) async fn write(s: &mut DbConnection, messages: &[Broadcast]) -> StoreResult<u64> {
    let count = i64::try_from(messages.len()).unwrap_or(i64::MAX);
    let taken = s.fetch_returning(ALLOCATE_SEQS, args![count]).await?;
    let last = match taken.first() {
        Some(row) => row.int("value")?,
        None => return Err(decode_error("counter", "the row of the events is gone")),
    };
    let mut seq = last - count;
    let mut rest = messages;
    while !rest.is_empty() {
        let power = rest.len().ilog2().min(6) as usize;
        let (now, later) = rest.split_at(1 << power);
        let mut args: Vec<Arg> = Vec::with_capacity(now.len() * 5);
        for message in now {
            seq += 1;
            args.extend(args![
                seq,
                s.now(),
                message.project_id(),
                message.task_id(),
                json(message)?
            ]);
        }
        s.execute(Sql::same(INSERT[power].as_str()), args).await?;
        rest = later;
    }
    Ok(number(last))
}

fn number(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// The message about a task's status.
pub(crate) fn status(task: &Task, status: TaskStatus, agent_id: &str) -> Broadcast {
    Broadcast::TaskStatus {
        project_id: task.project_id,
        task_id: task.id,
        status,
        agent_id: agent_id.to_owned(),
    }
}

/// Whether messages are small enough to keep.
pub(crate) fn check(messages: &[Broadcast]) -> StoreResult<()> {
    for message in messages {
        let size = json(message)?.len();
        if size > MAX_MESSAGE_BYTES {
            return Err(StoreError::Refused(format!(
                "a message of {size} bytes is longer than the {MAX_MESSAGE_BYTES} that are kept"
            )));
        }
    }
    Ok(())
}

/// Adds messages and gives the number of the last; without any, the last there is.
///
/// An attempt whose answer was lost says the same once more: then it gets the answer, and nothing is added.
pub(crate) async fn append(
    s: &mut DbConnection,
    attempt: Option<AttemptRef>,
    messages: &[Broadcast],
) -> StoreResult<u64> {
    if let Some(attempt) = attempt {
        fence_events(s, attempt).await?;
        if let Some(last) = find_duplicate(s, messages).await? {
            return Ok(last);
        }
    }
    for message in messages {
        s.queue_event(message.clone());
    }
    match s.assign_seqs().await? {
        Some(last) => Ok(last),
        None => last(s).await,
    }
}

/// The number under which these messages stand already, if they are the last that were said about their task.
///
/// Events carry numbers of their own, so two that are alike to the letter are one. The fence has waited for whoever may
/// still have been writing them.
async fn find_duplicate(s: &mut DbConnection, messages: &[Broadcast]) -> StoreResult<Option<u64>> {
    const BEFORE: Sql =
        sql!("SELECT seq, body FROM event WHERE task_id = $1 ORDER BY seq DESC LIMIT $2");
    let Some(newest) = messages.last() else {
        return Ok(None);
    };
    let Some(task) = newest.task_id() else {
        return Ok(None);
    };
    let mut seq = None;
    // One is enough to know, nearly always, that they are new.
    for count in [1, messages.len()] {
        let limit = u32::try_from(count).unwrap_or(u32::MAX);
        let rows = s.fetch_all(BEFORE, args![task, limit]).await?;
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

/// The number of the last message.
pub(crate) async fn last(s: &mut DbConnection) -> StoreResult<u64> {
    match s.fetch_optional(LAST, args![]).await? {
        Some(row) => Ok(number(row.int("value")?)),
        None => Err(decode_error("counter", "the row of the events is gone")),
    }
}

/// Reads messages in the order of their numbers.
pub(crate) async fn read(
    s: &mut DbConnection,
    filter: &EventFilter,
) -> StoreResult<Vec<LoggedEvent>> {
    const ALL: Sql = sql!("SELECT seq, at, body FROM event WHERE seq > $1 ORDER BY seq LIMIT $2");
    const OF_PROJECT: Sql = sql!(
        "SELECT seq, at, body FROM event WHERE project_id = $3 AND seq > $1 ORDER BY seq LIMIT $2"
    );
    const OF_TASK: Sql = sql!(
        "SELECT seq, at, body FROM event WHERE task_id = $3 AND seq > $1 ORDER BY seq LIMIT $2"
    );
    const OF_BOTH: Sql = sql!(
        "SELECT seq, at, body FROM event WHERE task_id = $3 AND project_id = $4 AND seq > $1 ",
        "ORDER BY seq LIMIT $2"
    );
    let after = i64::try_from(filter.after).unwrap_or(i64::MAX);
    let limit = page_size(filter.limit, MAX_PAGE);
    let rows = match (filter.task_id, filter.project_id) {
        (None, None) => s.fetch_all(ALL, args![after, limit]).await?,
        (None, Some(project)) => {
            s.fetch_all(OF_PROJECT, args![after, limit, project])
                .await?
        }
        (Some(task), None) => s.fetch_all(OF_TASK, args![after, limit, task]).await?,
        (Some(task), Some(project)) => {
            s.fetch_all(OF_BOTH, args![after, limit, task, project])
                .await?
        }
    };
    rows.iter().map(event).collect()
}

fn event(row: &Row) -> StoreResult<LoggedEvent> {
    Ok(LoggedEvent {
        seq: number(row.int("seq")?),
        at: timestamp(row.int("at")?),
        message: row.json("body")?,
    })
}

/// How many rows to read: what is asked for, zero meaning all that are allowed, and never more than those.
pub(crate) fn page_size(asked: u32, most: u32) -> u32 {
    if asked == 0 { most } else { asked.min(most) }
}
