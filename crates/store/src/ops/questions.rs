//! Questions for people, and their answers.

use windlass_core::task::{
    Answer, Blocker, ProjectId, RecordId, StoreError, StoreResult, Task, TaskId, TaskStatus,
};

use super::wishes;
use crate::session::{Session, moment};
use crate::sql::{Row, Sql, args, sql};
use crate::task::{self, TaskRow};

macro_rules! columns {
    () => {
        "blocker.id AS id, blocker.project_id AS project_id, task_id, blocker.attempt AS attempt, question, \
         blocker.created_at AS created_at, answer, answered_at"
    };
}

fn blocker(row: &Row) -> StoreResult<Blocker> {
    let at = row.maybe_int("answered_at")?;
    let text = row.maybe_text("answer")?;
    Ok(Blocker {
        id: row.int("id")?,
        project_id: row.int("project_id")?,
        task_id: row.int("task_id")?,
        attempt: row.small("attempt")?,
        question: row.text("question")?,
        created_at: moment(row.int("created_at")?),
        answer: text.zip(at).map(|(text, at)| Answer {
            text,
            at: moment(at),
        }),
    })
}

pub(crate) async fn ask(
    s: &mut Session,
    task: &Task,
    attempt: u32,
    question: &str,
) -> StoreResult<()> {
    const ASK: Sql = sql!(
        "INSERT INTO blocker (project_id, task_id, attempt, question, created_at) VALUES ($1, $2, $3, $4, $5)"
    );
    let now = s.now();
    s.write(ASK, args![task.project_id, task.id, attempt, question, now])
        .await
}

/// Questions, oldest first. Open is one that nobody answered and whose task still waits for it.
pub(crate) async fn blockers(
    s: &mut Session,
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
    let rows = s.rows(LIST, args![project.unwrap_or(0), open]).await?;
    rows.iter().map(blocker).collect()
}

pub(crate) async fn questions(s: &mut Session, id: TaskId) -> StoreResult<Vec<Blocker>> {
    const OF: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM blocker WHERE task_id = $1 ORDER BY blocker.id"
    );
    task::get(s, id).await?;
    let rows = s.rows(OF, args![id]).await?;
    rows.iter().map(blocker).collect()
}

/// Answers a question. Its task goes back to pending if it still waits for that.
pub(crate) async fn answer(s: &mut Session, id: RecordId, text: &str) -> StoreResult<Task> {
    const ONE: Sql = sql!("SELECT ", columns!(), " FROM blocker WHERE id = $1");
    const ANSWER: Sql = sql!(
        "UPDATE blocker SET answer = $2, answered_at = $3 WHERE id = $1 AND answered_at IS NULL RETURNING id"
    );
    let Some(row) = s.row(ONE, args![id]).await? else {
        return Err(StoreError::not_found("question", id));
    };
    let asked = blocker(&row)?;
    let TaskRow { task, held, .. } = task::get_to_change(s, asked.task_id).await?;
    let now = s.now();
    if s.change(ANSWER, args![id, text, now]).await?.is_empty() {
        return Err(StoreError::Refused(format!(
            "question {id} was answered already: the first answer holds"
        )));
    }
    let waits = task.status == TaskStatus::Blocked && !held && task.attempt == asked.attempt;
    if waits {
        // A person has helped: the attempts before that are forgotten.
        wishes::back_to_pending(s, &task, true).await?;
    }
    Ok(task::get(s, task.id).await?.task)
}
