//! Notifications: derived from the event log by followers, claimed and sent by workers.

use windlass_tasks::{
    Channel, FollowStep, NewNotification, Notification, NotificationClaim, NotificationEnd,
    NotificationId, NotificationState, ProjectId, StoreError, StoreResult,
};

use super::claim::millis;
use super::pushes::{self, MAX_WAIT_MS, truncated};
use crate::connection::{DbConnection, timestamp};
use crate::events::{self, page_size};
use crate::sql::{Row, Sql, args, decode_error, json, or_zero, sql};

/// The columns of a notification.
macro_rules! columns {
    () => {
        "id, project_id, task_id, cause, channel, body, state, error, tries, claim, created_at"
    };
}

/// Maximum number of notifications and pushes of one step, and of notifications of one page.
const MAX_DERIVED: usize = 10_000;
const MAX_PAGE: u32 = 1_000;
/// Maximum size of one notification.
const MAX_BODY_BYTES: usize = 64 << 10;
/// How long notifications are stored: 30 days.
const KEEP_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// Rejects a step that is too large.
pub(crate) fn check(step: &FollowStep) -> StoreResult<()> {
    if step.notifications.len() + step.pushes.len() > MAX_DERIVED {
        return Err(StoreError::Refused(format!(
            "a step of the follower {} has more than {MAX_DERIVED} records",
            step.follower
        )));
    }
    for new in &step.notifications {
        let size = json(&new.body)?.len();
        if size > MAX_BODY_BYTES {
            return Err(StoreError::Refused(format!(
                "a notification has {size} bytes; the limit is {MAX_BODY_BYTES}"
            )));
        }
    }
    Ok(())
}

/// The name of a follower's position among the counters.
fn counter(follower: &str) -> String {
    format!("follower {follower}")
}

/// Returns the position of a follower, and stores the last event as its position if it is new.
pub(crate) async fn follow(db: &mut DbConnection, follower: &str) -> StoreResult<u64> {
    const READ: Sql = sql!("SELECT value FROM counter WHERE name = $1");
    const START: Sql =
        sql!("INSERT INTO counter (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING");
    let name = counter(follower);
    if let Some(row) = db.fetch_optional(READ, args![name.as_str()]).await? {
        return Ok(u64::try_from(row.int("value")?).unwrap_or(0));
    }
    let last = events::last(db).await?;
    let value = i64::try_from(last).unwrap_or(i64::MAX);
    db.execute(START, args![name, value]).await?;
    Ok(last)
}

pub(crate) async fn record(db: &mut DbConnection, step: &FollowStep) -> StoreResult<bool> {
    const MOVE: Sql =
        sql!("UPDATE counter SET value = $3 WHERE name = $1 AND value = $2 RETURNING value");
    const FORGET: Sql = sql!("DELETE FROM notifications WHERE created_at < $1");
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let values = args![
        counter(&step.follower),
        number(step.from),
        number(step.to.max(step.from))
    ];
    if db.fetch_returning(MOVE, values).await?.is_empty() {
        return Ok(false);
    }
    for new in &step.notifications {
        insert(db, new).await?;
    }
    for new in &step.pushes {
        pushes::request(db, new).await?;
    }
    if !step.notifications.is_empty() {
        let oldest = db.now() - KEEP_MS;
        db.execute(FORGET, args![oldest]).await?;
    }
    Ok(true)
}

async fn insert(db: &mut DbConnection, new: &NewNotification) -> StoreResult<()> {
    const INSERT: Sql = sql!(
        "INSERT INTO notifications (project_id, task_id, cause, channel, body, state, due_at, created_at) ",
        "VALUES ($1, $2, $3, $4, $5, 'pending', $6, $6) ON CONFLICT (task_id, cause, channel) DO NOTHING"
    );
    let values = args![
        new.project_id,
        new.task_id,
        new.cause.as_str(),
        new.channel.as_str(),
        json(&new.body)?,
        db.now(),
    ];
    db.execute(INSERT, values).await
}

fn notification(row: &Row) -> StoreResult<Notification> {
    let state = row.text("state")?;
    let channel = row.text("channel")?;
    Ok(Notification {
        id: row.id("id")?,
        project_id: row.id("project_id")?,
        task_id: row.id("task_id")?,
        cause: row.text("cause")?,
        channel: Channel::from_name(&channel).ok_or_else(|| decode_error("channel", &channel))?,
        body: row.json("body")?,
        state: NotificationState::from_name(&state).ok_or_else(|| decode_error("state", &state))?,
        error: row.opt_text("error")?,
        tries: row.int_as("tries")?,
        created_at: timestamp(row.int("created_at")?),
        claim: row.int_as("claim")?,
    })
}

pub(crate) async fn claim(
    db: &mut DbConnection,
    claim: &NotificationClaim,
) -> StoreResult<Option<Notification>> {
    const CLAIM: Sql = sql!(
        "UPDATE notifications SET claim = claim + 1, tries = tries + 1, due_at = $2 ",
        "WHERE id = (SELECT id FROM notifications WHERE state = 'pending' AND (due_at <= $1 OR due_at > $5) ",
        "AND $3 LIKE '%,' || channel || ',%' AND ($4 = 0 OR project_id = $4) ORDER BY due_at, id LIMIT 1";
        lock " FOR NO KEY UPDATE SKIP LOCKED";
        ") RETURNING ",
        columns!()
    );
    let channels: Vec<&str> = claim.channels.iter().map(|one| one.as_str()).collect();
    let now = db.now();
    let values = args![
        now,
        now + millis(claim.lease),
        format!(",{},", channels.join(",")),
        or_zero(claim.project_id),
        now + MAX_WAIT_MS,
    ];
    let rows = db.fetch_returning(CLAIM, values).await?;
    rows.first().map(notification).transpose()
}

pub(crate) async fn end(
    db: &mut DbConnection,
    id: NotificationId,
    claim: u32,
    end: &NotificationEnd,
) -> StoreResult<bool> {
    const END: Sql = sql!(
        "UPDATE notifications SET state = $3, error = $4, due_at = $5 ",
        "WHERE id = $1 AND claim = $2 AND state = 'pending' RETURNING id"
    );
    let now = db.now();
    let (state, error, due_at) = match end {
        NotificationEnd::Sent => (NotificationState::Sent, None, now),
        NotificationEnd::Retry { error, after } => {
            let due_at = now + millis(*after).min(MAX_WAIT_MS);
            (NotificationState::Pending, Some(error.as_str()), due_at)
        }
        NotificationEnd::Dropped { error } => {
            (NotificationState::Dropped, Some(error.as_str()), now)
        }
    };
    let error = error.map(truncated);
    let values = args![id, claim, state.as_str(), error, due_at];
    Ok(!db.fetch_returning(END, values).await?.is_empty())
}

pub(crate) async fn list(
    db: &mut DbConnection,
    project: Option<ProjectId>,
    limit: u32,
) -> StoreResult<Vec<Notification>> {
    const LIST: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM notifications WHERE $1 = 0 OR project_id = $1 ORDER BY id DESC LIMIT $2"
    );
    let values = args![or_zero(project), page_size(limit, MAX_PAGE)];
    let rows = db.fetch_all(LIST, values).await?;
    rows.iter().map(notification).collect()
}
