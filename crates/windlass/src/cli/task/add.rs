//! `windlass task add`.

use clap::Args;
use windlass_core::task::{Dependency, MAX_ATTEMPTS, NewTask, TaskId, WorkerKind};

use super::super::app::App;
use super::super::exit::{CliError, Exit};
use super::super::prompt_text;
use super::super::queue::TaskQueue;
use super::list;

#[derive(Debug, Args)]
pub(super) struct Add {
    /// What is to be done, in a few words; - reads all of it from stdin, the first line being the title
    title: String,
    /// What is to be done, in full
    #[arg(
        short,
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    description: String,
    /// 0 comes first, 4 last
    #[arg(short, long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=4))]
    priority: u8,
    /// The step of the workflow: 1 comes first, 15 last, among equals in priority
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=15))]
    step: u8,
    /// Wait until this task is completed; may be given several times
    #[arg(long, value_name = "ID")]
    after: Vec<TaskId>,
    /// The kind of worker: backend, frontend or test
    #[arg(long, value_name = "KIND", default_value = "backend", value_parser = kind)]
    kind: WorkerKind,
    /// The agent; without it the configured default
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Adding a task again under the same key gives the first one
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// How many times it may be attempted
    #[arg(long, value_name = "N", default_value_t = MAX_ATTEMPTS, value_parser = clap::value_parser!(u32).range(1..=100))]
    attempts: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Add {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let text = prompt_text::read(self.title, std::io::stdin())?;
        let (title, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let description = [self.description.as_str(), rest.trim()].join("\n");
        let queue = TaskQueue::open(app).await?;
        let task = NewTask {
            description: description.trim().to_owned(),
            priority: self.priority,
            workflow_step: self.step,
            dependencies: self.after.into_iter().map(Dependency::Task).collect(),
            kind: self.kind,
            agent: self.agent,
            idempotency_key: self.key,
            max_attempts: self.attempts,
            ..NewTask::new(queue.project.id, title.trim())
        };
        let added = queue.store.enqueue(vec![task]).await?;
        let Some(added) = added.into_iter().next() else {
            return Err(CliError::failed(
                "the store took the task and did not say which it is",
            ));
        };
        if !added.fresh {
            app.console
                .notice("this key was used before: the task is the first one");
        }
        list::show_one(app, &added.task, self.json)
    }
}

/// The kind of worker that a person means.
pub(in super::super) fn kind(text: &str) -> Result<WorkerKind, String> {
    WorkerKind::named(text).ok_or_else(|| "expected backend, frontend or test".to_owned())
}
