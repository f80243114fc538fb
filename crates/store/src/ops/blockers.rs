//! Questions for people, and their answers.

use windlass_core::task::{
    Answer, Blocker, ProjectId, RecordId, StoreError, StoreResult, Task, TaskId, TaskStatus,
};

use super::tasks;
use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, sql};
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
        id: row.int("id")?,
        project_id: row.int("project_id")?,
        task_id: row.int("task_id")?,
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
    s: &mut DbConnection,
    task: &Task,
    attempt: u32,
    question: &str,
) -> StoreResult<()> {
    const ASK: Sql = sql!(
        "INSERT INTO blocker (project_id, task_id, attempt, question, created_at) VALUES ($1, $2, $3, $4, $5)"
    );
    let now = s.now();
    s.execute(ASK, args![task.project_id, task.id, attempt, question, now])
        .await
}

/// Questions, oldest first. Open is one that nobody answered and whose task still waits for it.
pub(crate) async fn blockers(
    s: &mut DbConnection,
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
    let rows = s.fetch_all(LIST, args![project.unwrap_or(0), open]).await?;
    rows.iter().map(blocker).collect()
}

pub(crate) async fn task_blockers(s: &mut DbConnection, id: TaskId) -> StoreResult<Vec<Blocker>> {
    const OF: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM blocker WHERE task_id = $1 ORDER BY blocker.id"
    );
    task_row::get(s, id).await?;
    let rows = s.fetch_all(OF, args![id]).await?;
    rows.iter().map(blocker).collect()
}

/// Answers a question. Its task goes back to pending if it still waits for that.
pub(crate) async fn answer(s: &mut DbConnection, id: RecordId, text: &str) -> StoreResult<Task> {
    const ONE: Sql = sql!("SELECT ", columns!(), " FROM blocker WHERE id = $1");
    const ANSWER: Sql = sql!(
        "UPDATE blocker SET answer = $2, answered_at = $3 WHERE id = $1 AND answered_at IS NULL RETURNING id"
    );
    let Some(row) = s.fetch_optional(ONE, args![id]).await? else {
        return Err(StoreError::not_found("question", id));
    };
    let asked = blocker(&row)?;
    let TaskRow { task, held, .. } = task_row::get_for_update(s, asked.task_id).await?;
    let now = s.now();
    if s.fetch_returning(ANSWER, args![id, text, now])
        .await?
        .is_empty()
    {
        return Err(StoreError::Refused(format!(
            "question {id} was answered already: the first answer holds"
        )));
    }
    let waits = task.status == TaskStatus::Blocked && !held && task.attempt == asked.attempt;
    if waits {
        // A person has helped: the attempts before that are forgotten.
        tasks::reset_to_pending(s, &task, true).await?;
    }
    Ok(task_row::get(s, task.id).await?.task)
}
