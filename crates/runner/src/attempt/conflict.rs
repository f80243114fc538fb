//! Dependencies with conflicting changes: a separate task merges them, or a person is asked.

use windlass_tasks::{
    BaseConflict, Dependency, DependencyChange, NewTask, StoreError, Task, TaskId, WorkingCopy,
};

use super::prompts::conflict_text;
use super::{AttemptContext, AttemptError, AttemptResult, retry_transient};
use crate::settings::ConflictPolicy;
use crate::template::truncate_end;

/// Maximum size of a person's answer in the description of a task.
const MAX_ANSWER_BYTES: usize = 4 << 10;
/// Maximum size of the text about a conflict in a question.
const MAX_QUESTION_BYTES: usize = 40 << 10;
/// Maximum number and size of the files that are searched for conflict markers.
const MAX_MERGED_FILES: usize = 1_000;
const MAX_MERGED_BYTES: usize = 1 << 20;

/// Returns the files with conflict markers.
pub(super) async fn unresolved_files(
    working_copy: &dyn WorkingCopy,
    files: &[String],
) -> AttemptResult<Vec<String>> {
    let mut unresolved = Vec::new();
    for path in files.iter().take(MAX_MERGED_FILES) {
        let text = working_copy.read(path, MAX_MERGED_BYTES).await?;
        let has_marker = |text: String| {
            let is_marker =
                |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
            text.lines().any(is_marker)
        };
        if text.is_some_and(has_marker) {
            unresolved.push(path.clone());
        }
    }
    Ok(unresolved)
}

/// Decides what happens to an attempt that cannot start because the changes in its base conflict. Returns how the
/// attempt ends.
pub(super) async fn wait_or_ask(
    attempt: &AttemptContext<'_>,
    conflict: &BaseConflict,
    changes: &[DependencyChange],
) -> AttemptResult<AttemptError> {
    if conflict.with.is_empty() {
        return wait_for_update(attempt, conflict).await;
    }
    let mut tasks: Vec<TaskId> = conflict.with.iter().map(|part| part.task).collect();
    tasks.push(conflict.part.task);
    let about = About {
        head: format!("The changes of {} conflict.", list(&tasks)),
        tasks,
        text: conflict_text(&conflict.files),
    };
    let runner = attempt.runner;
    let blockers = || runner.store.task_blockers(attempt.at.task);
    let blockers = retry_transient(&*runner.clock, blockers).await?;
    let answered = blockers
        .iter()
        .rev()
        .filter(|blocker| blocker.question.starts_with(&about.head));
    let answer = answered
        .filter_map(|blocker| blocker.answer.as_ref())
        .map(|answer| answer.text.as_str())
        .next();
    let asks = runner.settings.conflicts == ConflictPolicy::Ask;
    if attempt.task.merges || asks && answer.is_none() {
        return Ok(about.question("How should they be merged?"));
    }
    let last = retry_transient(&*runner.clock, || runner.store.task(conflict.part.task)).await?;
    let merge = about.task(&last, conflict, changes, answer);
    let wait = || runner.store.wait_for_merge(attempt.at, merge.clone());
    match retry_transient(&*runner.clock, wait).await {
        Ok(task) => Ok(AttemptError::Waiting {
            reason: format!("waiting for task {}: {}", task.id, task.title),
            is_released: true,
        }),
        Err(StoreError::Refused(why)) => {
            let ask = format!("They were merged once ({why}). How should they be merged?");
            Ok(about.question(&ask))
        }
        Err(error) => Err(error.into()),
    }
}

/// A dependency that conflicts with the target must be worked on again.
async fn wait_for_update(
    attempt: &AttemptContext<'_>,
    conflict: &BaseConflict,
) -> AttemptResult<AttemptError> {
    let runner = attempt.runner;
    let task = conflict.part.task;
    let target = attempt.task.target.as_deref();
    let files: Vec<&str> = conflict
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    let reason = format!(
        "outdated: its change conflicts with {} in {}",
        target.unwrap_or("the branch that is checked out"),
        files.join(", ")
    );
    let wait = || {
        let store = &runner.store;
        store.wait_for_update(attempt.at, task, reason.clone())
    };
    retry_transient(&*runner.clock, wait).await?;
    Ok(AttemptError::Waiting {
        reason: format!("waiting for task {task}, which conflicts with its target"),
        is_released: true,
    })
}

/// Describes a conflict as text.
struct About {
    /// Its first sentence, which identifies it.
    head: String,
    tasks: Vec<TaskId>,
    /// The files with both sides.
    text: String,
}

impl About {
    fn question(&self, ask: &str) -> AttemptError {
        let text = format!("{} {ask}\n\n{}", self.head, self.text);
        AttemptError::Blocked {
            question: truncate_end(&text, MAX_QUESTION_BYTES),
        }
    }

    /// Returns the task that merges the changes. Two tasks that wait for the same merge describe the same task.
    fn task(
        &self,
        last: &Task,
        conflict: &BaseConflict,
        changes: &[DependencyChange],
        answer: Option<&str>,
    ) -> NewTask {
        let is_part = |change: &&DependencyChange| self.tasks.contains(&change.task);
        let titles = changes.iter().filter(is_part).map(|change| {
            let DependencyChange { task, title, .. } = change;
            format!("- task {task}: {title}\n")
        });
        let mut description = format!(
            "{}\n\n{}\nThe files of your clone have both changes, with conflict markers where they differ. The first \
             side is that of {}, the second that of {}. Resolve every conflict so that both changes do what they were \
             made for, and leave no conflict marker.\n\n{}",
            self.head,
            titles.collect::<String>(),
            list(&self.tasks[..self.tasks.len() - 1]),
            list(&self.tasks[self.tasks.len() - 1..]),
            self.text
        );
        if let Some(answer) = answer {
            let answer = truncate_end(answer, MAX_ANSWER_BYTES);
            description.push_str(&format!("\nA person decided: {answer}\n"));
        }
        let mut commits: Vec<&str> = conflict.with.iter().map(|with| &*with.commit).collect();
        commits.push(&conflict.part.commit);
        NewTask {
            description,
            issue_id: last.issue_id,
            priority: last.priority,
            workflow_step: last.workflow_step,
            dependencies: self.tasks.iter().copied().map(Dependency::Task).collect(),
            kind: last.kind,
            agent: last.agent.clone(),
            agent_settings: last.agent_settings.clone(),
            needs: last.needs.clone(),
            idempotency_key: Some(
                format!("merge {}", commits.join(" "))
                    .chars()
                    .take(512)
                    .collect(),
            ),
            edits_tests: changes
                .iter()
                .filter(is_part)
                .any(|change| change.edits_tests),
            target: last.target.clone(),
            merges: true,
            land: last.land,
            ..NewTask::new(
                last.project_id,
                format!("Merge the changes of {}", list(&self.tasks)),
            )
        }
    }
}

/// Names tasks: `tasks 1, 2 and 3`.
fn list(tasks: &[TaskId]) -> String {
    let names: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    match names.split_last() {
        Some((last, [])) => format!("task {last}"),
        Some((last, rest)) => format!("tasks {} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Returns the question of a merge that an agent could not do.
pub(super) fn merge_question(task: &Task, error: &str) -> String {
    let text = format!(
        "{error}\n\nHow should it be merged?\n\n{}",
        task.description
    );
    truncate_end(&text, MAX_QUESTION_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_listed_in_words() {
        let [one, two, three] = [1, 2, 3].map(TaskId::from);
        assert_eq!(list(&[one]), "task 1");
        assert_eq!(list(&[one, two]), "tasks 1 and 2");
        assert_eq!(list(&[three, one, two]), "tasks 3, 1 and 2");
    }
}
