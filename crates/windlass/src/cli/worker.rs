//! `windlass worker`: takes tasks from the store, here or on another machine.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use windlass_core::task::WorkerKind;
use windlass_runner::{AgentPoolManager, ResultStatus, WorkerReport};

use super::app::App;
use super::console::QUIET;
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use super::progress::ProgressPrinter;
use super::queue::TaskQueue;
use super::task_runtime::{TaskRuntime, runner_settings, test_settings};
use crate::agent_catalog::AgentCatalog;

/// What those who take tasks are told on the command line.
#[derive(Debug, Args)]
pub(super) struct WorkerArgs {
    /// How many tasks to work on at a time; without it what the configuration says
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    concurrency: Option<u16>,
    /// The agent for tasks that name none; without it the configured default, else anthropic where ANTHROPIC_API_KEY is set
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Tasks of every project in the store, whose folders must all be on this machine
    #[arg(long)]
    all: bool,
    /// Only tasks for this kind of worker; may be given several times
    #[arg(long, value_name = "KIND", value_parser = super::task::kind)]
    kind: Vec<WorkerKind>,
}

impl WorkerArgs {
    /// The agents, with the one to work where a task names none: where nobody has chosen, Anthropic's model for those
    /// who have a key to it.
    pub(super) fn catalog(&self, app: &App<'_>, queue: &TaskQueue) -> AgentCatalog {
        let has_key = || {
            let key = OsStr::new("ANTHROPIC_API_KEY");
            let key = app.inputs.environment.get(key);
            key.is_some_and(|key| !key.is_empty())
        };
        let chosen = self.agent.clone().or_else(|| {
            let nobody = queue.config.default_agent().is_none();
            (nobody && has_key()).then(|| "anthropic".to_owned())
        });
        app.catalog(&queue.config).with_default(chosen)
    }

    /// A worker over this queue.
    pub(super) fn worker(
        &self,
        app: &App<'_>,
        queue: &TaskQueue,
        crew: &TaskRuntime,
        roster: AgentCatalog,
    ) -> windlass_runner::Worker {
        let config = &queue.config;
        let runner = crew.runner(
            Arc::clone(&queue.store),
            Arc::new(roster),
            Some(Arc::new(ProgressPrinter::new(app.console))),
            runner_settings(config),
        );
        let room = self.concurrency.map(usize::from);
        let room = room.or_else(|| config.number("worker.concurrency")?.try_into().ok());
        windlass_runner::Worker {
            pool: room.map(AgentPoolManager::new).unwrap_or_default(),
            project: (!self.all).then_some(queue.project.id),
            kinds: self.kind.clone(),
            ..windlass_runner::Worker::new(Arc::new(runner))
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct Worker {
    #[command(flatten)]
    hands: WorkerArgs,
    /// End when there is nothing left to take
    #[arg(long)]
    once: bool,
    /// Print JSON at the end
    #[arg(long)]
    json: bool,
}

impl Worker {
    /// Works until it is asked to stop: once gently, twice at once.
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = TaskQueue::open(app).await?;
        let config = &queue.config;
        let crew = TaskRuntime::for_store(app, config, test_settings(config)).await?;
        let roster = self.hands.catalog(app, &queue);
        // Better now than once for each task.
        roster.find(None)?;
        let worker = windlass_runner::Worker {
            once: self.once,
            ..self.hands.worker(app, &queue, &crew, roster)
        };
        let stop = CancellationToken::new();
        let work = worker.run(stop.clone());
        tokio::pin!(work);
        let mut interrupts = Interrupts::listen()?;
        let mut interrupted = false;
        let report = loop {
            tokio::select! {
                report = &mut work => break report,
                () = interrupts.next() => {
                    if interrupted {
                        return Ok(Exit::Interrupted);
                    }
                    interrupted = true;
                    app.console.progress(QUIET, "no new tasks; what is under way has 20 s to end; interrupt again to leave at once");
                    stop.cancel();
                }
            }
        };
        self.report(app, &report?)
    }

    fn report(&self, app: &App<'_>, report: &WorkerReport) -> Result<Exit, CliError> {
        const STATUSES: [ResultStatus; 6] = [
            ResultStatus::Completed,
            ResultStatus::Failed,
            ResultStatus::Blocked,
            ResultStatus::Cancelled,
            ResultStatus::Released,
            ResultStatus::Superseded,
        ];
        let counts = STATUSES.map(|status| (status, report.count(status)));
        if self.json {
            let counts: serde_json::Map<_, _> = counts
                .iter()
                .map(|(status, count)| (status.to_string(), json!(count)))
                .collect();
            app.console.json(&counts)?;
        } else {
            let said: Vec<String> = counts
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(status, count)| format!("{count} {status}"))
                .collect();
            let said = if said.is_empty() {
                "nothing to do".to_owned()
            } else {
                said.join(", ")
            };
            app.console.line(&said)?;
        }
        Ok(exit(report))
    }
}

/// How the worker ends, by the last attempt at each task: one that failed and was mended by the next is no failure.
fn exit(report: &WorkerReport) -> Exit {
    let last: BTreeMap<_, _> = report
        .results
        .iter()
        .map(|(task, result)| (task, result.status))
        .collect();
    let any = |wanted: &[ResultStatus]| last.values().any(|status| wanted.contains(status));
    if any(&[ResultStatus::Failed, ResultStatus::Superseded]) {
        Exit::Failed
    } else if any(&[ResultStatus::Blocked]) {
        Exit::Blocked
    } else {
        Exit::Done
    }
}

impl From<windlass_runner::Error> for CliError {
    fn from(error: windlass_runner::Error) -> Self {
        match error {
            windlass_runner::Error::Agent(error) => error.into(),
            windlass_runner::Error::Store(error) => error.into(),
            windlass_runner::Error::Plan(error) => error.into(),
            error => Self::usage(error.to_string()),
        }
    }
}

impl From<windlass_runner::PlanError> for CliError {
    fn from(error: windlass_runner::PlanError) -> Self {
        match error {
            windlass_runner::PlanError::Agent(error) => error.into(),
            error => Self::failed(error.to_string()),
        }
    }
}
