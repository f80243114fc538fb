//! Reviews: their comments, and their effect on the task in the same transaction.

use std::collections::BTreeMap;

use windlass_tasks::{
    AttemptNumber, AttemptRef, AuthorKind, Broadcast, DiffSide, MAX_AGENT_REQUESTS, MAX_REVIEWS,
    NewReview, Proof, Review, ReviewComment, ReviewDecision, ReviewId, StoreError, StoreResult,
    Task, TaskId, TaskStatus,
};

use super::tasks;
use crate::connection::{DbConnection, timestamp};
use crate::events::status;
use crate::sql::{Row, Sql, args, decode_error, sql};
use crate::task_row;

macro_rules! columns {
    () => {
        "id, project_id, task_id, attempt, decision, author, author_kind, body, created_at"
    };
}

/// Adds a review of the newest version and applies its decision.
pub(crate) async fn add(db: &mut DbConnection, new: &NewReview) -> StoreResult<(Review, Task)> {
    let task = task_row::get_for_update(db, new.task_id).await?.task;
    let earlier = list(db, task.id).await?;
    let mut of_version = earlier
        .iter()
        .rev()
        .filter(|one| one.attempt == new.attempt);
    if let Some(stored) = of_version.find(|one| is_same(one, new)) {
        return Ok((stored.clone(), task));
    }
    check_version(db, &task, new).await?;
    check_count(&task, &earlier, new)?;
    let id = insert(db, &task, new).await?;
    apply(db, &task, new).await?;
    db.queue_event(activity(&task, new));
    let mut stored = list(db, task.id).await?.into_iter();
    let stored = stored.find(|one| one.id == id);
    let stored = stored.ok_or_else(|| StoreError::not_found("review", id))?;
    Ok((stored, task_row::get(db, task.id).await?.task))
}

/// Returns `true` if a stored review is the new one, submitted before.
fn is_same(stored: &Review, new: &NewReview) -> bool {
    stored.decision == new.decision
        && stored.author == new.author
        && stored.author_kind == new.author_kind
        && stored.text == new.text
        && stored.comments == new.comments
}

async fn check_version(db: &mut DbConnection, task: &Task, new: &NewReview) -> StoreResult<()> {
    let id = task.id;
    if task.status == TaskStatus::InProgress {
        return refuse(format!(
            "task {id} is being worked on (attempt {}): review its change when the attempt has ended",
            task.attempt
        ));
    }
    let Some(newest) = newest_version(db, id).await? else {
        return refuse(format!("task {id} has no change to review"));
    };
    let seen = new.attempt;
    if seen < newest {
        return refuse(format!(
            "version {seen} of task {id} is not the newest: look at version {newest}, then review that"
        ));
    }
    if seen > newest {
        return refuse(format!(
            "task {id} has no version {seen}: the newest is version {newest}"
        ));
    }
    if let Some(landed) = &task.landed
        && new.decision == ReviewDecision::RequestChanges
    {
        return refuse(format!(
            "version {seen} of task {id} has landed as {}: add a task for further changes",
            landed.commit
        ));
    }
    if new.decision != ReviewDecision::Comment && task.status != TaskStatus::Completed {
        return refuse(format!(
            "task {id} is {}: only the change of a completed task can be approved or sent back",
            task.status
        ));
    }
    Ok(())
}

fn check_count(task: &Task, earlier: &[Review], new: &NewReview) -> StoreResult<()> {
    let id = task.id;
    if earlier.len() >= MAX_REVIEWS as usize {
        return refuse(format!("task {id} already has {MAX_REVIEWS} reviews"));
    }
    let since_person = earlier
        .iter()
        .rev()
        .take_while(|one| one.author_kind == AuthorKind::Agent);
    let requests = since_person
        .filter(|one| one.decision == ReviewDecision::RequestChanges)
        .count();
    let is_request =
        new.author_kind == AuthorKind::Agent && new.decision == ReviewDecision::RequestChanges;
    if is_request && requests >= MAX_AGENT_REQUESTS as usize {
        return refuse(format!(
            "agents have requested changes of task {id} {requests} times: a person must review it now"
        ));
    }
    Ok(())
}

/// Returns the last attempt that has a change.
async fn newest_version(db: &mut DbConnection, id: TaskId) -> StoreResult<Option<AttemptNumber>> {
    const NEWEST: Sql = sql!(
        "SELECT number FROM attempt WHERE task_id = $1 AND (change_commit IS NOT NULL OR ended = 'completed') ",
        "ORDER BY number DESC LIMIT 1"
    );
    let row = db.fetch_optional(NEWEST, args![id]).await?;
    row.map(|row| row.int_as("number")).transpose()
}

async fn insert(db: &mut DbConnection, task: &Task, new: &NewReview) -> StoreResult<ReviewId> {
    const REVIEW: Sql = sql!(
        "INSERT INTO review (project_id, task_id, attempt, decision, author, author_kind, body, created_at) ",
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id"
    );
    const COMMENT: Sql = sql!(
        "INSERT INTO review_comment (review_id, number, path, line, side, quote, body) ",
        "VALUES ($1, $2, $3, $4, $5, $6, $7)"
    );
    let values = args![
        task.project_id,
        task.id,
        new.attempt,
        new.decision.as_str(),
        new.author.as_str(),
        new.author_kind.as_str(),
        new.text.as_str(),
        db.now(),
    ];
    let rows = db.fetch_returning(REVIEW, values).await?;
    let row = rows.first().ok_or_else(|| decode_error("id", "no row"))?;
    let id = row.id("id")?;
    for (number, comment) in (0_i64..).zip(&new.comments) {
        let values = args![
            id,
            number,
            comment.path.as_str(),
            comment.line.map(i64::from),
            comment.side.as_str(),
            comment.quote.as_deref(),
            comment.text.as_str(),
        ];
        db.execute(COMMENT, values).await?;
    }
    Ok(id)
}

async fn apply(db: &mut DbConnection, task: &Task, new: &NewReview) -> StoreResult<()> {
    const DECIDE: Sql = sql!("UPDATE task SET review = $2, updated_at = $3 WHERE id = $1");
    const APPROVE: Sql = sql!("UPDATE task SET needs_review = 0 WHERE id = $1");
    let now = db.now();
    let decided = args![task.id, new.decision.as_str(), now];
    match new.decision {
        // A comment does not replace a decision.
        ReviewDecision::Comment if task.review.is_some() => Ok(()),
        ReviewDecision::Comment => db.execute(DECIDE, decided).await,
        ReviewDecision::Approve => {
            db.execute(DECIDE, decided).await?;
            db.execute(APPROVE, args![task.id]).await?;
            db.queue_event(status(task, task.status, "worker"));
            Ok(())
        }
        ReviewDecision::RequestChanges => {
            db.execute(DECIDE, decided).await?;
            tasks::reset_to_pending(db, task, true).await
        }
    }
}

fn activity(task: &Task, new: &NewReview) -> Broadcast {
    let what = match new.decision {
        ReviewDecision::Comment => "commented on",
        ReviewDecision::RequestChanges => "requested changes of",
        ReviewDecision::Approve => "approved",
    };
    Broadcast::ActivityUpdate {
        project_id: task.project_id,
        activity_type: "review".to_owned(),
        agent_id: new.author.clone(),
        message: format!("{} {what} version {}", new.author, new.attempt),
        task_id: Some(task.id),
    }
}

/// Lists the reviews of a task, oldest first.
pub(crate) async fn list(db: &mut DbConnection, task: TaskId) -> StoreResult<Vec<Review>> {
    const LIST: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM review WHERE task_id = $1 ORDER BY id LIMIT 1000"
    );
    task_row::get(db, task).await?;
    let rows = db.fetch_all(LIST, args![task]).await?;
    with_comments(db, task, &rows).await
}

/// Lists the reviews that the next attempt must deal with.
pub(crate) async fn open(db: &mut DbConnection, task: TaskId) -> StoreResult<Vec<Review>> {
    const OPEN: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM review WHERE task_id = $1 AND attempt >= ",
        "(SELECT coalesce(max(number), 0) FROM attempt WHERE task_id = $1 AND ended = 'completed') ",
        "ORDER BY id LIMIT 1000"
    );
    let task = task_row::get(db, task).await?.task;
    if task.review != Some(ReviewDecision::RequestChanges) {
        return Ok(Vec::new());
    }
    let rows = db.fetch_all(OPEN, args![task.id]).await?;
    with_comments(db, task.id, &rows).await
}

async fn with_comments(
    db: &mut DbConnection,
    task: TaskId,
    rows: &[Row],
) -> StoreResult<Vec<Review>> {
    const COMMENTS: Sql = sql!(
        "SELECT review_id, path, line, side, quote, review_comment.body AS body FROM review_comment ",
        "JOIN review ON review.id = review_id WHERE task_id = $1 ORDER BY review_id, number"
    );
    let mut comments: BTreeMap<ReviewId, Vec<ReviewComment>> = BTreeMap::new();
    for row in &db.fetch_all(COMMENTS, args![task]).await? {
        let of = comments.entry(row.id("review_id")?).or_default();
        of.push(comment(row)?);
    }
    let mut review = |row: &Row| {
        let id = row.id("id")?;
        let decision = row.text("decision")?;
        let author_kind = row.text("author_kind")?;
        Ok(Review {
            id,
            project_id: row.id("project_id")?,
            task_id: row.id("task_id")?,
            attempt: row.int_as("attempt")?,
            decision: ReviewDecision::from_name(&decision)
                .ok_or_else(|| decode_error("decision", &decision))?,
            author: row.text("author")?,
            author_kind: AuthorKind::from_name(&author_kind)
                .ok_or_else(|| decode_error("author_kind", &author_kind))?,
            text: row.text("body")?,
            comments: comments.remove(&id).unwrap_or_default(),
            created_at: timestamp(row.int("created_at")?),
        })
    };
    rows.iter().map(&mut review).collect()
}

fn comment(row: &Row) -> StoreResult<ReviewComment> {
    let side = row.text("side")?;
    let line = row.opt_int("line")?;
    Ok(ReviewComment {
        path: row.text("path")?,
        line: line
            .map(|line| u32::try_from(line).map_err(|_| decode_error("line", line)))
            .transpose()?,
        side: DiffSide::from_name(&side).ok_or_else(|| decode_error("side", &side))?,
        quote: row.opt_text("quote")?,
        text: row.text("body")?,
    })
}

/// Returns the proof of a version, which a later one may have replaced.
pub(crate) async fn proof_of(
    db: &mut DbConnection,
    version: AttemptRef,
) -> StoreResult<Option<Proof>> {
    const PROOF: Sql = sql!(
        "SELECT body FROM proof WHERE task_id = $1 AND attempt = $2 UNION ALL ",
        "SELECT body FROM earlier_proof WHERE task_id = $1 AND attempt = $2 LIMIT 1"
    );
    task_row::get(db, version.task).await?;
    let row = db
        .fetch_optional(PROOF, args![version.task, version.number])
        .await?;
    row.map(|row| row.json("body")).transpose()
}

fn refuse<T>(why: impl Into<String>) -> StoreResult<T> {
    Err(StoreError::Refused(why.into()))
}
