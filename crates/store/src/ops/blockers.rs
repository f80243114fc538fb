//! Blockers: questions for people, and their answers.

use windlass_tasks::{
    Answer, Blocker, BlockerId, ProjectId, StoreError, StoreResult, Task, TaskId, TaskStatus,
};

use super::tasks;
use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, or_zero, sql};
use crate::task_row::{self, TaskRow};

macro_rules! columns {
    () => {
        "blocker.id AS id, blocker.project_id AS project_id, task_id, blocker.attempt AS attempt, question, \
         blocker.created_at AS created_at, answer, answered_at"
    };
}

fn blocker(row: &Row) -> StoreResult<Blocker> {
    let at = row.opt_int("answered_at")?;
    let text = row.opt_text("answer")?;
    Ok(Blocker {
        id: row.id("id")?,
        project_id: row.id("project_id")?,
        task_id: row.id("task_id")?,
        attempt: row.int_as("attempt")?,
        question: row.text("question")?,
        created_at: timestamp(row.int("created_at")?),
        answer: text.zip(at).map(|(text, at)| Answer {
            text,
            at: timestamp(at),
        }),
    })
}

pub(crate) async fn insert(
    db: &mut DbConnection,
    task: &Task,
    attempt: u32,
    question: &str,
) -> StoreResult<()> {
    const INSERT: Sql = sql!(
        "INSERT INTO blocker (project_id, task_id, attempt, question, created_at) VALUES ($1, $2, $3, $4, $5)"
    );
    let now = db.now();
    db.execute(
        INSERT,
        args![task.project_id, task.id, attempt, question, now],
    )
    .await
}

/// Lists questions, oldest first. A question is open if it has no answer and its task is still blocked by it.
pub(crate) async fn blockers(
    db: &mut DbConnection,
    project: Option<ProjectId>,
    open: bool,
) -> StoreResult<Vec<Blocker>> {
    const LIST: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM blocker JOIN task ON task.id = blocker.task_id WHERE ($1 = 0 OR blocker.project_id = $1) ",
        "AND ($2 = 0 OR (answered_at IS NULL AND task.status = 'blocked' AND task.attempt = blocker.attempt)) ",
        "ORDER BY blocker.id LIMIT 10000"
    );
    let rows = db.fetch_all(LIST, args![or_zero(project), open]).await?;
    rows.iter().map(blocker).collect()
}

pub(crate) async fn task_blockers(db: &mut DbConnection, id: TaskId) -> StoreResult<Vec<Blocker>> {
    const OF_TASK: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM blocker WHERE task_id = $1 ORDER BY blocker.id"
    );
    task_row::get(db, id).await?;
    let rows = db.fetch_all(OF_TASK, args![id]).await?;
    rows.iter().map(blocker).collect()
}

/// Answers a question. Its task becomes pending again if it is still blocked by this question.
pub(crate) async fn answer(db: &mut DbConnection, id: BlockerId, text: &str) -> StoreResult<Task> {
    const ONE: Sql = sql!("SELECT ", columns!(), " FROM blocker WHERE id = $1");
    const ANSWER: Sql = sql!(
        "UPDATE blocker SET answer = $2, answered_at = $3 WHERE id = $1 AND answered_at IS NULL RETURNING id"
    );
    let Some(row) = db.fetch_optional(ONE, args![id]).await? else {
        return Err(StoreError::not_found("question", id));
    };
    let blocker = blocker(&row)?;
    let TaskRow { task, held, .. } = task_row::get_for_update(db, blocker.task_id).await?;
    let now = db.now();
    if db
        .fetch_returning(ANSWER, args![id, text, now])
        .await?
        .is_empty()
    {
        return Err(StoreError::Refused(format!(
            "question {id} is already answered: the first answer is final"
        )));
    }
    let waits = task.status == TaskStatus::Blocked && !held && task.attempt == blocker.attempt;
    if waits {
        // An answer resets the attempt count.
        tasks::reset_to_pending(db, &task, true).await?;
    }
    Ok(task_row::get(db, task.id).await?.task)
}
