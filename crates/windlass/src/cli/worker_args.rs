//! The flags of a worker, and the worker that they describe.

use std::ffi::OsStr;
use std::sync::Arc;

use clap::Args;
use windlass_runner::{AgentPoolManager, ChangeReviewer, LandingListener, RunnerSettings};
use windlass_tasks::{
    NewWorker, Project, ProjectId, TaskFilter, TaskStatus, WorkerKind, sorted_labels,
};

use super::app::App;
use super::default_agent;
use super::exit::CliError;
use super::progress::ProgressPrinter;
use super::queue::OpenQueue;
use super::recordings::RecordArgs;
use super::review::ReviewingAgent;
use super::task_runtime::{TaskRuntime, runner_settings};
use super::worker_agents::usable_agents;
use crate::agent_catalog::AgentCatalog;
use crate::config::Config;

/// Flags shared by `windlass worker` and `windlass serve`.
#[derive(Debug, Args)]
pub(super) struct WorkerArgs {
    /// Maximum number of concurrent tasks (default: worker.concurrency)
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    concurrency: Option<u16>,
    /// Agent for tasks that name none (default: routing, then the configured agent, else anthropic if ANTHROPIC_API_KEY is set)
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Run tasks of all projects in the store; each needs a checkout on this machine or a remote
    #[arg(long)]
    pub(super) all: bool,
    /// Run only tasks of this kind: backend, frontend or test (repeatable)
    #[arg(long, value_name = "KIND", value_parser = super::task::kind)]
    kind: Vec<WorkerKind>,
    /// What this machine has, such as gpu: tasks that need it are claimed too (repeatable, added to worker.labels)
    #[arg(long, value_name = "LABEL", value_parser = super::task::label)]
    label: Vec<String>,
    #[command(flatten)]
    record: RecordArgs,
}

impl WorkerArgs {
    /// Returns the agents, with the default for tasks that name none. If no default is configured, it is Anthropic's
    /// model if ANTHROPIC_API_KEY is set, otherwise the first agent that is installed.
    pub(super) async fn catalog(&self, app: &App<'_>) -> Result<AgentCatalog, CliError> {
        let config = app.config()?;
        let has_key = || {
            let key = OsStr::new("ANTHROPIC_API_KEY");
            let key = app.inputs.environment.get(key);
            key.is_some_and(|key| !key.is_empty())
        };
        let default = self.agent.clone().or_else(|| {
            let is_unset = config.default_agent.is_none();
            (is_unset && has_key()).then(|| "anthropic".to_owned())
        });
        let default = default_agent::choose(app, default.as_deref()).await?;
        let catalog = app.catalog()?.with_default(default);
        Ok(match self.agent {
            Some(_) => catalog.without_routing(),
            None => catalog,
        })
    }

    /// Reports a missing default agent now, not once for each task. It is an error if it is named, or if a waiting task
    /// needs it.
    pub(super) async fn check_default(
        &self,
        app: &App<'_>,
        (queue, project): (&OpenQueue, Option<ProjectId>),
        agents: &AgentCatalog,
    ) -> Result<(), CliError> {
        let Err(error) = agents.find(None) else {
            return Ok(());
        };
        if agents.has_default() || has_task_without_agent(queue, project).await? {
            return Err(error.into());
        }
        app.console
            .notice(&format!("tasks that name no agent will fail: {error}"));
        Ok(())
    }

    /// Returns the project whose tasks are run, or `None` for all.
    pub(super) fn only(&self, project: &Project) -> Option<ProjectId> {
        (!self.all).then_some(project.id)
    }

    /// Creates a worker for this queue, for one project or for all.
    pub(super) fn worker(
        &self,
        app: &App<'_>,
        (queue, project): (&OpenQueue, Option<ProjectId>),
        task_runtime: &TaskRuntime,
        agents: AgentCatalog,
    ) -> Result<windlass_runner::Worker, CliError> {
        let config = &queue.config;
        let concurrency = self
            .concurrency
            .map_or(config.worker.concurrency, u32::from);
        let settings = RunnerSettings {
            worker: format!("{}/{}", queue.machine.name, std::process::id()),
            ..runner_settings(config)
        };
        let entry = NewWorker {
            name: settings.worker.clone(),
            machine: queue.machine.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            labels: self.labels(config)?,
            kinds: self.kind.clone(),
            agents: usable_agents(app, &agents)?,
            project_id: project,
            lanes: concurrency,
            interval: settings.heartbeat_interval(),
        };
        let reviewer = config.review.agent.clone().map(|name| {
            let reviewer: Arc<dyn ChangeReviewer> = Arc::new(ReviewingAgent {
                store: Arc::clone(&queue.store),
                clones: task_runtime.clones.clone(),
                agents: agents.clone(),
                name,
                console: *app.console,
            });
            reviewer
        });
        let printer = Arc::new(ProgressPrinter::new(app.console));
        let listener: Arc<dyn LandingListener> = printer.clone();
        let runner = task_runtime.runner(
            Arc::clone(&queue.store),
            self.record.resolver(app, queue, agents)?,
            Some(printer),
            settings,
        );
        let concurrency = usize::try_from(concurrency).unwrap_or(usize::MAX);
        let runner = Arc::new(runner);
        let lander = task_runtime.lander(Arc::clone(&runner), config, project);
        Ok(windlass_runner::Worker {
            lander: Some(lander),
            landing_listener: Some(listener),
            pool: AgentPoolManager::new(concurrency),
            project,
            kinds: self.kind.clone(),
            reviewer,
            entry: Some(entry),
            ..windlass_runner::Worker::new(runner)
        })
    }

    /// Returns the labels of the flags and of the configuration.
    fn labels(&self, config: &Config) -> Result<Vec<String>, CliError> {
        let configured = config.worker.labels.iter().flatten();
        let labels: Vec<String> = configured.chain(&self.label).cloned().collect();
        sorted_labels(&labels)
            .map_err(|problem| CliError::usage(format!("worker.labels: {problem}")))
    }
}

/// Returns `true` if a task waits that names no agent.
async fn has_task_without_agent(
    queue: &OpenQueue,
    project: Option<ProjectId>,
) -> Result<bool, CliError> {
    let mut filter = TaskFilter {
        project_id: project,
        status: Some(TaskStatus::Pending),
        ..TaskFilter::default()
    };
    loop {
        let tasks = queue.store.tasks(filter.clone()).await?;
        let Some(last) = tasks.last() else {
            return Ok(false);
        };
        if tasks.iter().any(|task| task.agent.is_none()) {
            return Ok(true);
        }
        filter.after = Some(last.id);
    }
}
