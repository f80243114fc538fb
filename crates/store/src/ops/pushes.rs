//! Pushes: requested by a user or a follower of the event log, claimed and ended by the process that pushes.

use windlass_tasks::{
    Broadcast, NewPush, Push, PushClaim, PushEnd, PushId, PushRef, PushState, StoreError,
    StoreResult, TaskId,
};

use super::claim::millis;
use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, decode_error, json, or_zero, sql};
use crate::task_row;

/// The columns of a push.
macro_rules! columns {
    () => {
        "id, task_id, remote, ref, pushed, sent, request, state, error, tries, claim, due_at, updated_at"
    };
}

/// Maximum number of pushes of one task.
const MAX_REMOTES: i64 = 20;
/// Maximum number of unconfirmed commits that are known as ours. Of more, the oldest are forgotten.
const MAX_SENT: usize = 20;
/// Maximum size of an error message, and of what a command printed about a pull request.
const MAX_TEXT_BYTES: usize = 4 << 10;
/// No push waits longer. If the clock was set back, one that seems to is due.
pub(crate) const MAX_WAIT_MS: i64 = 24 * 60 * 60 * 1000;

fn push(row: &Row) -> StoreResult<Push> {
    let state = row.text("state")?;
    let state = PushState::from_name(&state).ok_or_else(|| decode_error("state", &state))?;
    let due_at = timestamp(row.int("due_at")?);
    Ok(Push {
        id: row.id("id")?,
        task_id: row.id("task_id")?,
        remote: row.text("remote")?,
        reference: row.text("ref")?,
        commit: row.opt_text("pushed")?,
        sent: row.json("sent")?,
        request: row.opt_text("request")?,
        state,
        error: row.opt_text("error")?,
        tries: row.int_as("tries")?,
        due_at: (state == PushState::Queued).then_some(due_at),
        at: timestamp(row.int("updated_at")?),
        claim: row.int_as("claim")?,
    })
}

/// Requests a push. A process that is pushing an earlier version can no longer end it.
pub(crate) async fn request(db: &mut DbConnection, new: &NewPush) -> StoreResult<Push> {
    const COUNT: Sql = sql!("SELECT count(*) AS n FROM pushes WHERE task_id = $1 AND remote <> $2");
    const REQUEST: Sql = sql!(
        "INSERT INTO pushes (task_id, remote, ref, state, due_at, updated_at) VALUES ($1, $2, $3, 'queued', $4, $4) ",
        "ON CONFLICT (task_id, remote) DO UPDATE SET state = 'queued', error = NULL, tries = 0, claim = pushes.claim + 1, ",
        "due_at = excluded.due_at, updated_at = excluded.updated_at, ",
        "pushed = CASE WHEN pushes.ref = excluded.ref THEN pushes.pushed END, ",
        "sent = CASE WHEN pushes.ref = excluded.ref THEN pushes.sent ELSE '[]' END, ",
        "request = CASE WHEN pushes.ref = excluded.ref THEN pushes.request END, ref = excluded.ref ",
        "RETURNING ",
        columns!()
    );
    task_row::get(db, new.task_id).await?;
    let (task, remote) = (new.task_id, new.remote.as_str());
    let others = db.fetch_optional(COUNT, args![task, remote]).await?;
    if others.map_or(Ok(0), |row| row.int("n"))? >= MAX_REMOTES {
        return Err(StoreError::Refused(format!(
            "task {task} was pushed to {MAX_REMOTES} remotes already"
        )));
    }
    let values = args![task, remote, new.reference.as_str(), db.now()];
    match db.fetch_returning(REQUEST, values).await?.first() {
        Some(row) => push(row),
        None => Err(decode_error("pushes", "the insert returned no row")),
    }
}

pub(crate) async fn list(db: &mut DbConnection, task: TaskId) -> StoreResult<Vec<Push>> {
    const LIST: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM pushes WHERE task_id = $1 ORDER BY id"
    );
    task_row::get(db, task).await?;
    let rows = db.fetch_all(LIST, args![task]).await?;
    rows.iter().map(push).collect()
}

pub(crate) async fn claim(db: &mut DbConnection, claim: &PushClaim) -> StoreResult<Option<Push>> {
    macro_rules! next {
        ($which:literal) => {
            sql!(
                "UPDATE pushes SET state = 'pushing', claim = claim + 1, tries = tries + 1, due_at = $2, updated_at = $1 ",
                "WHERE id = (SELECT id FROM pushes WHERE ", $which,
                "AND ($3 = 0 OR task_id IN (SELECT id FROM task WHERE project_id = $3)) ORDER BY due_at, id LIMIT 1";
                lock " FOR NO KEY UPDATE SKIP LOCKED";
                ") RETURNING ",
                columns!()
            )
        };
    }
    const DUE: Sql = next!("state IN ('queued', 'pushing') AND (due_at <= $1 OR due_at > $4) ");
    const THIS: Sql = next!("id = $4 ");
    let now = db.now();
    let project = or_zero(claim.project_id);
    let mut values = args![now, now + millis(claim.lease), project];
    let next = match claim.id {
        Some(id) => {
            values.extend(args![id]);
            THIS
        }
        None => {
            values.extend(args![now + MAX_WAIT_MS]);
            DUE
        }
    };
    let rows = db.fetch_returning(next, values).await?;
    rows.first().map(push).transpose()
}

/// Returns `true` if a push is not finished. This reads one entry of an index, however many pushes there were.
pub(crate) async fn any_open(db: &mut DbConnection) -> StoreResult<bool> {
    const OPEN: Sql = sql!("SELECT id FROM pushes WHERE state IN ('queued', 'pushing') LIMIT 1");
    Ok(db.fetch_optional(OPEN, args![]).await?.is_some())
}

/// Returns a push if this claim of it is the last one, and locks it until the transaction ends.
async fn fence(db: &mut DbConnection, at: PushRef) -> StoreResult<Push> {
    const ONE: Sql = sql!(
        "SELECT ", columns!(), " FROM pushes WHERE id = $1"; lock " FOR NO KEY UPDATE"
    );
    let PushRef { id, claim } = at;
    let Some(row) = db.fetch_optional(ONE, args![id]).await? else {
        return Err(StoreError::not_found("push", id));
    };
    let found = push(&row)?;
    if found.claim == claim && found.state == PushState::Pushing {
        return Ok(found);
    }
    Err(StoreError::Refused(format!(
        "the push of task {} was started again by another process",
        found.task_id
    )))
}

pub(crate) async fn record_sent(
    db: &mut DbConnection,
    at: PushRef,
    commit: &str,
) -> StoreResult<()> {
    const UPDATE: Sql = sql!("UPDATE pushes SET sent = $2, updated_at = $3 WHERE id = $1");
    let mut sent = fence(db, at).await?.sent;
    sent.retain(|known| known != commit);
    sent.push(commit.to_owned());
    let first = sent.len().saturating_sub(MAX_SENT);
    let sent = json(&sent[first..].to_vec())?;
    let now = db.now();
    db.execute(UPDATE, args![at.id, sent, now]).await
}

pub(crate) async fn end(db: &mut DbConnection, at: PushRef, end: &PushEnd) -> StoreResult<Push> {
    const PUSHED: Sql =
        sql!("UPDATE pushes SET pushed = $2, sent = '[]', updated_at = $3 WHERE id = $1");
    const END: Sql = sql!(
        "UPDATE pushes SET state = $2, error = $3, request = coalesce($4, request), due_at = $5, updated_at = $6 ",
        "WHERE id = $1"
    );
    let found = fence(db, at).await?;
    let now = db.now();
    let (commit, state, error, request, due_at) = match end {
        PushEnd::Pushed { commit, request } => {
            let request = request.as_deref();
            (Some(commit), PushState::Pushed, None, request, now)
        }
        PushEnd::Failed {
            commit,
            error,
            retry_in,
        } => {
            let (state, wait) = match retry_in {
                Some(wait) => (PushState::Queued, millis(*wait).min(MAX_WAIT_MS)),
                None => (PushState::Failed, 0),
            };
            (
                commit.as_ref(),
                state,
                Some(error.as_str()),
                None,
                now + wait,
            )
        }
    };
    if let Some(commit) = commit {
        db.execute(PUSHED, args![at.id, commit.as_str(), now])
            .await?;
    }
    let (error, request) = (error.map(truncated), request.map(truncated));
    let values = args![at.id, state.as_str(), error, request, due_at, now];
    db.execute(END, values).await?;
    let task = task_row::get(db, found.task_id).await?.task;
    let remote = &found.remote;
    let (what, message) = match error {
        None => ("pushed", format!("pushed to {remote}")),
        Some(error) => ("push_failed", format!("not pushed to {remote}: {error}")),
    };
    db.queue_event(Broadcast::ActivityUpdate {
        project_id: task.project_id,
        activity_type: what.to_owned(),
        agent_id: "worker".to_owned(),
        message,
        task_id: Some(task.id),
    });
    one(db, at.id).await
}

async fn one(db: &mut DbConnection, id: PushId) -> StoreResult<Push> {
    const ONE: Sql = sql!("SELECT ", columns!(), " FROM pushes WHERE id = $1");
    match db.fetch_optional(ONE, args![id]).await? {
        Some(row) => push(&row),
        None => Err(StoreError::not_found("push", id)),
    }
}

/// Cuts a text to the maximum size.
pub(crate) fn truncated(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
}
