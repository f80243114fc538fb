//! `windlass task edit`: changes a task that is not running.

use clap::Args;
use serde::{Deserialize, Serialize};
use windlass_tasks::{ATTEMPT_LIMIT, Task, TaskEdit, TaskId, WorkerKind};

use super::super::app::App;
use super::super::editor;
use super::super::exit::{CliError, Exit};
use super::super::queue::ProjectQueue;
use super::{add, list};

#[derive(Debug, Args)]
#[command(after_help = "Without flags, the task is opened in $EDITOR.")]
pub(super) struct Edit {
    /// Task number
    id: TaskId,
    /// New title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// New description
    #[arg(short, long, value_name = "TEXT")]
    description: Option<String>,
    /// Priority: 0 is the highest, 4 the lowest
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=4))]
    priority: Option<u8>,
    /// Workflow step, from 1 to 15
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15))]
    step: Option<u8>,
    /// Kind of worker: backend, frontend or test
    #[arg(long, value_name = "KIND", value_parser = add::kind)]
    kind: Option<WorkerKind>,
    /// Agent to use
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Use the configured agent
    #[arg(long, conflicts_with = "agent")]
    no_agent: bool,
    /// Wait until this task is completed; replaces the former dependencies (repeatable)
    #[arg(long, value_name = "ID", alias = "after")]
    depends_on: Vec<TaskId>,
    /// Wait for no other task
    #[arg(long, conflicts_with = "depends_on")]
    no_depends_on: bool,
    /// Maximum number of attempts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(ATTEMPT_LIMIT)))]
    attempts: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Edit {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let (id, json) = (self.id, self.json);
        let mut edit = self.flags();
        if edit.is_empty() {
            let task = queue.store.task(id).await?;
            let document = Document::new(&task);
            let text = document.text(id).map_err(CliError::failed)?;
            let name = format!("task-{id}.toml");
            edit = match editor::edit(app, &name, &text, Document::parse).await? {
                Some(edited) => edited.edit(&task),
                None => return Ok(editor::unchanged(app)),
            };
        }
        list::show_one(app, &queue.store.edit_task(id, edit).await?, json)
    }

    fn flags(self) -> TaskEdit {
        let agent = self.agent.map(Some);
        let dependencies = (!self.depends_on.is_empty()).then_some(self.depends_on);
        TaskEdit {
            title: self.title,
            description: self.description,
            priority: self.priority,
            workflow_step: self.step,
            kind: self.kind,
            agent: if self.no_agent { Some(None) } else { agent },
            dependencies: if self.no_depends_on {
                Some(Vec::new())
            } else {
                dependencies
            },
            max_attempts: self.attempts,
            expected: None,
        }
    }
}

/// The fields of a task, as the user edits them.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    title: String,
    priority: u8,
    step: u8,
    kind: WorkerKind,
    /// Empty for the configured one.
    #[serde(default)]
    agent: String,
    #[serde(default)]
    depends_on: Vec<TaskId>,
    attempts: u32,
    #[serde(default)]
    description: String,
}

impl Document {
    fn new(task: &Task) -> Self {
        Self {
            title: task.title.clone(),
            priority: task.priority,
            step: task.workflow_step,
            kind: task.kind,
            agent: task.agent.clone().unwrap_or_default(),
            depends_on: task.dependencies.clone(),
            attempts: task.max_attempts,
            description: task.description.clone(),
        }
    }

    fn text(&self, id: TaskId) -> Result<String, String> {
        let fields = toml::to_string_pretty(self).map_err(|error| error.to_string())?;
        Ok(format!(
            "# Task {id}. Save and close the editor to apply the changes.\n\
             # An empty agent is the configured one; depends_on lists tasks that must be completed first.\n{fields}"
        ))
    }

    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Returns the changes. They are refused if the task has changed since it was read.
    fn edit(self, task: &Task) -> TaskEdit {
        let agent = Some(self.agent).filter(|agent| !agent.is_empty());
        TaskEdit {
            title: changed(self.title, &task.title),
            description: changed(self.description, &task.description),
            priority: changed(self.priority, &task.priority),
            workflow_step: changed(self.step, &task.workflow_step),
            kind: changed(self.kind, &task.kind),
            agent: changed(agent, &task.agent),
            dependencies: changed(self.depends_on, &task.dependencies),
            max_attempts: changed(self.attempts, &task.max_attempts),
            expected: Some(task.updated_at),
        }
    }
}

fn changed<T: PartialEq>(new: T, old: &T) -> Option<T> {
    (new != *old).then_some(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_keeps_odd_text() {
        let document = Document {
            title: format!("\u{1b}[31m ''' \"\"\" {}", "x".repeat(200)),
            priority: 0,
            step: 15,
            kind: WorkerKind::Test,
            agent: String::new(),
            depends_on: vec![TaskId::from(1), TaskId::from(2)],
            attempts: 3,
            description: "two\nlines \u{202e}\t'''\n\"\"\"\r\n\n[table]\nkey = 1\n".to_owned(),
        };
        let text = document.text(TaskId::from(7)).unwrap();
        assert_eq!(Document::parse(&text), Ok(document));
        let unknown = Document::parse(&text.replace("step", "stop")).unwrap_err();
        assert!(
            unknown.contains("stop") && unknown.contains("line 5"),
            "{unknown}"
        );
    }
}
