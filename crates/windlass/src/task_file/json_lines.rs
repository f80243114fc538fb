//! JSON lines: one task per line, with the fields of a task to add.

use std::collections::HashMap;

use serde::Deserialize;
use windlass_tasks::{ATTEMPT_LIMIT, Dependency, NewTask, TaskId, WorkerKind};

use super::{FileTask, item_key};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskLine {
    title: String,
    #[serde(default)]
    description: String,
    priority: Option<u8>,
    workflow_step: Option<u8>,
    kind: Option<WorkerKind>,
    agent: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
    max_attempts: Option<u32>,
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    edits_tests: bool,
    #[serde(default)]
    dependencies: Vec<On>,
    idempotency_key: Option<String>,
}

/// A dependency: the number of a task, or as in a task to add.
#[derive(Deserialize)]
#[serde(untagged)]
enum On {
    Id(TaskId),
    Dependency(Dependency),
}

/// Reads one task per line. Empty lines are skipped. A sibling is the index of another line with a task, from
/// zero.
pub(super) fn parse(
    text: &str,
    source: &str,
    new: &dyn Fn(&str) -> NewTask,
) -> Result<Vec<FileTask>, String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut tasks: Vec<FileTask> = Vec::new();
    let lines = text.lines().enumerate();
    for (index, text) in lines.filter(|(_, text)| !text.trim().is_empty()) {
        let line = index + 1;
        let read: TaskLine = serde_json::from_str(text).map_err(|error| {
            // A line has no further lines: only the column is of interest.
            let why = error.to_string();
            let why = why.split(" at line ").next().unwrap_or_default().to_owned();
            format!("line {line}, column {}: {why}", error.column())
        })?;
        let task = task(read, new).map_err(|why| format!("line {line}: {why}"))?;
        let occurrence = seen.entry(task.title.clone()).or_default();
        *occurrence += 1;
        let key = match &task.idempotency_key {
            Some(key) => key.clone(),
            None => item_key(source, &[&task.title], *occurrence),
        };
        tasks.push(FileTask { line, key, task });
    }
    let count = tasks.len();
    for FileTask { line, task, .. } in &tasks {
        for dependency in &task.dependencies {
            if let Dependency::Sibling(at) = dependency
                && *at >= count
            {
                return Err(format!(
                    "line {line}: it depends on index {at} of a file with the last index {}",
                    count - 1
                ));
            }
        }
    }
    Ok(tasks)
}

fn task(read: TaskLine, new: &dyn Fn(&str) -> NewTask) -> Result<NewTask, String> {
    if read.title.trim().is_empty() {
        return Err("the task has no title".to_owned());
    }
    let defaults = new(read.title.trim());
    let priority = read.priority.unwrap_or(defaults.priority);
    if priority > 4 {
        return Err(format!(
            "priority is {priority}; it must be 0 (highest) to 4"
        ));
    }
    let workflow_step = read.workflow_step.unwrap_or(defaults.workflow_step);
    if !(1..=15).contains(&workflow_step) {
        return Err(format!(
            "workflow_step is {workflow_step}; it must be 1 to 15"
        ));
    }
    let max_attempts = read.max_attempts.unwrap_or(defaults.max_attempts);
    if !(1..=ATTEMPT_LIMIT).contains(&max_attempts) {
        return Err(format!(
            "max_attempts is {max_attempts}; it must be 1 to {ATTEMPT_LIMIT}"
        ));
    }
    let dependencies = read.dependencies.into_iter().map(|on| match on {
        On::Id(id) => Dependency::Task(id),
        On::Dependency(dependency) => dependency,
    });
    Ok(NewTask {
        description: read.description,
        priority,
        workflow_step,
        dependencies: dependencies.collect(),
        kind: read.kind.unwrap_or_default(),
        agent: read.agent.filter(|agent| !agent.is_empty()),
        needs: read.needs,
        idempotency_key: read.idempotency_key,
        max_attempts,
        tests: read.tests,
        edits_tests: read.edits_tests,
        ..defaults
    })
}

#[cfg(test)]
mod tests {
    use windlass_tasks::ProjectId;

    use super::*;

    fn read(text: &str) -> Result<Vec<FileTask>, String> {
        parse(text, "tasks.jsonl", &|title| {
            NewTask::new(ProjectId::from(1), title)
        })
    }

    #[test]
    fn lines_become_tasks() {
        let tasks = read(
            "{\"title\": \" a \", \"priority\": 0, \"kind\": \"test\", \"dependencies\": [7, {\"sibling\": 1}]}\n\n\
             {\"title\": \"b\", \"agent\": \"codex\", \"idempotency_key\": \"k\", \"tests\": [\"t\"]}\n",
        )
        .unwrap();
        assert_eq!((tasks[0].line, tasks[1].line), (1, 3));
        assert_eq!(tasks[0].task.title, "a");
        let wanted = [Dependency::Task(TaskId::from(7)), Dependency::Sibling(1)];
        assert_eq!(tasks[0].task.dependencies, wanted);
        assert_eq!(tasks[1].key, "k");
        assert_eq!(tasks[1].task.agent.as_deref(), Some("codex"));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, wanted) in [
            (
                "{\"title\": \"a\"}\n{\"titel\": \"b\"}",
                "line 2, column 8: unknown field `titel`",
            ),
            ("{\"title\": \"a\"\n", "line 1"),
            (
                "{\"title\": \"a\", \"priority\": 9}",
                "line 1: priority is 9",
            ),
            ("\n{\"title\": \" \"}", "line 2: the task has no title"),
            (
                "{\"title\": \"a\", \"dependencies\": [{\"sibling\": 1}]}",
                "line 1: it depends on index 1",
            ),
            (
                "{\"title\": \"a\", \"max_attempts\": 0}",
                "it must be 1 to 100",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(
                error.starts_with(wanted) || error.contains(wanted),
                "{text}: {error}"
            );
        }
    }
}
