//! Messages to agents, and tasks that a person takes over.

use windlass_tasks::{
    AgentMessage, AttemptRef, Claim, Claimed, MAX_MESSAGE_BYTES, MAX_WAITING_MESSAGES, MessageId,
    StoreError, StoreResult, TaskId, TaskStatus,
};

use super::{claim, tasks};
use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, decode_error, or_zero, sql};
use crate::task_row::{self, TaskRow};

macro_rules! columns {
    () => {
        "id, task_id, author, text, created_at, attempt"
    };
}

/// The maximum size of an author's name, in bytes.
const MAX_AUTHOR_BYTES: usize = 200;

fn message(row: &Row) -> StoreResult<AgentMessage> {
    let attempt = row.opt_int("attempt")?;
    let attempt = attempt.map(u32::try_from).transpose();
    Ok(AgentMessage {
        id: row.id("id")?,
        task_id: row.id("task_id")?,
        author: row.text("author")?,
        text: row.text("text")?,
        created_at: timestamp(row.int("created_at")?),
        attempt: attempt.map_err(|error| decode_error("attempt", error))?,
    })
}

/// Validates a message.
pub(crate) fn check(author: &str, text: &str) -> StoreResult<()> {
    if text.trim().is_empty() {
        return Err(StoreError::Refused("the message is empty".to_owned()));
    }
    for (what, text, limit) in [
        ("the message", text, MAX_MESSAGE_BYTES),
        ("the name of its author", author, MAX_AUTHOR_BYTES),
    ] {
        if text.len() > limit {
            let size = text.len();
            return Err(StoreError::Refused(format!(
                "{what} has {size} bytes; the limit is {limit}"
            )));
        }
    }
    Ok(())
}

pub(crate) async fn send(
    db: &mut DbConnection,
    task: TaskId,
    author: &str,
    text: &str,
) -> StoreResult<AgentMessage> {
    const WAITING: Sql =
        sql!("SELECT count(*) AS n FROM message WHERE task_id = $1 AND delivered_at IS NULL");
    const ADD: Sql = sql!(
        "INSERT INTO message (task_id, author, text, created_at) VALUES ($1, $2, $3, $4) RETURNING ",
        columns!()
    );
    task_row::get_for_update(db, task).await?;
    let waiting: usize = match db.fetch_optional(WAITING, args![task]).await? {
        Some(row) => row.int_as("n")?,
        None => 0,
    };
    if waiting >= MAX_WAITING_MESSAGES {
        return Err(StoreError::Refused(format!(
            "{waiting} messages wait for task {task} already, which is the limit"
        )));
    }
    let now = db.now();
    let values = args![task, author, text, now];
    match db.fetch_returning(ADD, values).await?.first() {
        Some(row) => message(row),
        None => Err(decode_error("message", "the insert returned no row")),
    }
}

pub(crate) async fn list(db: &mut DbConnection, task: TaskId) -> StoreResult<Vec<AgentMessage>> {
    const LIST: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM message WHERE task_id = $1 ORDER BY id LIMIT 10000"
    );
    task_row::get(db, task).await?;
    let rows = db.fetch_all(LIST, args![task]).await?;
    rows.iter().map(message).collect()
}

/// Gives an attempt the messages that no other attempt has received.
pub(crate) async fn take(
    db: &mut DbConnection,
    attempt: AttemptRef,
    seen: Option<MessageId>,
) -> StoreResult<Vec<AgentMessage>> {
    const MARK: Sql = sql!(
        "UPDATE message SET attempt = $2, delivered_at = $3 WHERE task_id = $1 AND delivered_at IS NULL RETURNING id"
    );
    const TAKEN: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM message WHERE task_id = $1 AND attempt = $2 AND id > $3 ORDER BY id LIMIT 10000"
    );
    task_row::fence(db, attempt).await?;
    let now = db.now();
    let values = args![attempt.task, attempt.number, now];
    db.fetch_returning(MARK, values).await?;
    let values = args![attempt.task, attempt.number, or_zero(seen)];
    let rows = db.fetch_all(TAKEN, values).await?;
    rows.iter().map(message).collect()
}

/// Claims a task for a person.
pub(crate) async fn take_over(db: &mut DbConnection, claimed: &Claim) -> StoreResult<Claimed> {
    const UNPAUSE: Sql = sql!("UPDATE task SET paused = 0 WHERE id = $1");
    let Some(id) = claimed.task else {
        return Err(StoreError::Refused("name the task to take over".to_owned()));
    };
    let TaskRow { task, .. } = task_row::get_for_update(db, id).await?;
    if let Some(landed) = &task.landed {
        return Err(StoreError::Refused(format!(
            "task {id} has landed with commit {}: its change would be made a second time",
            landed.commit
        )));
    }
    match task.status {
        TaskStatus::InProgress => {
            return Err(StoreError::Refused(format!(
                "attempt {} at task {id} is running",
                task.attempt
            )));
        }
        TaskStatus::Pending => {}
        _ => tasks::reset_to_pending(db, &task, true).await?,
    }
    db.execute(UNPAUSE, args![id]).await?;
    match claim::claim(db, claimed, "").await? {
        Some(claimed) => Ok(claimed),
        // Everything above is rolled back.
        None => Err(StoreError::Refused(format!(
            "task {id} waits for a task that it depends on"
        ))),
    }
}
