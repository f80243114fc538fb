//! `windlass task add`: adds a task to the queue.

use clap::Args;
use windlass_tasks::{
    ATTEMPT_LIMIT, Dependency, IssueId, MAX_ATTEMPTS, NewTask, TaskId, WorkerKind, check_label,
};

use super::super::app::App;
use super::super::exit::{CliError, Exit};
use super::super::prompt_text;
use super::super::queue::ProjectQueue;
use super::super::remote;
use super::super::schedule;
use super::best_of::BestOfArgs;
use super::list;
use crate::registry::local_backends;

#[derive(Debug, Args)]
pub(super) struct Add {
    /// Task title; - reads title (first line) and description from stdin
    title: String,
    /// Task description
    #[arg(
        short,
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    description: String,
    /// Priority: 0 is the highest, 4 the lowest
    #[arg(short, long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=4))]
    priority: u8,
    /// Workflow step, from 1 to 15: among tasks of equal priority, lower steps run first
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=15))]
    step: u8,
    /// Wait until this task is completed (repeatable)
    #[arg(long, value_name = "ID", visible_alias = "depends-on")]
    after: Vec<TaskId>,
    /// Kind of worker: backend, frontend or test
    #[arg(long, value_name = "KIND", default_value = "backend", value_parser = kind)]
    kind: WorkerKind,
    /// Agent to use (default: the configured agent)
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Label that a worker must have to claim the task, such as gpu (repeatable)
    #[arg(long, value_name = "LABEL", value_parser = label)]
    needs: Vec<String>,
    /// Issue that the task belongs to; its title and description are part of the agent's prompt
    #[arg(long, value_name = "ID")]
    issue: Option<IssueId>,
    /// Idempotency key: adding again with the same key returns the existing task
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Maximum number of attempts
    #[arg(long, value_name = "N", default_value_t = MAX_ATTEMPTS, value_parser = clap::value_parser!(u32).range(1..=i64::from(ATTEMPT_LIMIT)))]
    attempts: u32,
    /// Branch that the work is for (default: the one that is checked out when an attempt starts)
    #[arg(long, value_name = "BRANCH")]
    target: Option<String>,
    #[command(flatten)]
    tests: TaskTests,
    /// Land the change when it is proved
    #[arg(long)]
    land: bool,
    /// Add the task whenever it is due: minute hour day month weekday, in this machine's time zone
    #[arg(long, value_name = "EXPRESSION", conflicts_with_all = ["after", "key"])]
    cron: Option<String>,
    #[command(flatten)]
    best_of: BestOfArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Settings of a task for its tests.
#[derive(Debug, Args)]
pub(in super::super) struct TaskTests {
    /// Test that the task is about: it must pass (repeatable)
    #[arg(long = "test", value_name = "NAME")]
    pub(in super::super) names: Vec<String>,
    /// The task is about the tests: do not run the tests of the base against the change
    #[arg(long)]
    pub(in super::super) edits_tests: bool,
}

impl Add {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let text = prompt_text::read_named("title", self.title, std::io::stdin())?;
        let (title, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let description = [self.description.as_str(), rest.trim()].join("\n");
        let queue = ProjectQueue::open(app).await?;
        if let Some(agent) = &self.agent {
            known_agent(app, agent)?;
        }
        let target = remote::publish_target(&queue, self.target).await?;
        let task = NewTask {
            description: description.trim().to_owned(),
            priority: self.priority,
            workflow_step: self.step,
            dependencies: self.after.into_iter().map(Dependency::Task).collect(),
            kind: self.kind,
            agent: self.agent,
            needs: self.needs,
            issue_id: self.issue,
            idempotency_key: self.key,
            max_attempts: self.attempts,
            tests: self.tests.names,
            edits_tests: self.tests.edits_tests,
            land: self.land,
            best_of: self.best_of.read()?,
            target,
            ..NewTask::new(queue.project.id, title.trim())
        };
        if let Some(cron) = self.cron {
            return schedule::add(app, &*queue.store, cron, task, self.json).await;
        }
        let added = queue.store.enqueue(vec![task]).await?;
        let Some(added) = added.into_iter().next() else {
            return Err(CliError::failed(
                "internal error: the store returned no task id",
            ));
        };
        if !added.fresh {
            app.console
                .notice("a task with this key already exists: nothing was added");
        }
        list::show_one(app, &added.task, self.json)
    }
}

/// Returns an error if no agent has this name: a task for it would fail whenever a worker claims it.
fn known_agent(app: &App<'_>, name: &str) -> Result<(), CliError> {
    let mut names = app.registry.available();
    for backend in local_backends() {
        names.push(backend);
    }
    app.config()?.resolve_agent(name, &names)?;
    Ok(())
}

/// Parses a label.
pub(in super::super) fn label(text: &str) -> Result<String, String> {
    check_label(text).map(|()| text.to_owned())
}

/// Parses a kind of worker.
pub(in super::super) fn kind(text: &str) -> Result<WorkerKind, String> {
    WorkerKind::from_name(text).ok_or_else(|| "expected backend, frontend or test".to_owned())
}
