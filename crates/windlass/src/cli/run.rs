//! `windlass run`: plans a task; with `--apply` executes the plan and verifies it with the project's tests.

mod preflight;
mod report;
mod roles;

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use windlass_core::{DirAccess, SessionOptions, escape_line};
use windlass_runner::{
    Listener, Plan, PlanError, PlanOptions, ResultStatus, StopSignals, TaskResult, get_plan,
};
use windlass_tasks::{NewTask, TaskId};
use windlass_workspace::{Clones, MergeOutcome};

use super::app::App;
use super::approver;
use super::console::{QUIET, STRONG};
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use super::progress::ProgressPrinter;
use super::prompt_text;
use super::queue::ProjectQueue;
use super::recordings::RecordArgs;
use super::remote;
use super::spinner::Spinner;
use super::task::TaskTests;
use super::task_runtime::runner_settings;
use crate::settings::Settings;
use preflight::Ready;
use report::RunReport;
use roles::Roles;

#[derive(Debug, Args)]
pub(super) struct Run {
    /// Execute the plan, verify it with the tests and merge the result
    #[arg(long)]
    apply: bool,
    /// Merge the result even if its proof has warnings
    #[arg(long, requires = "apply")]
    accept: bool,
    /// Agent that makes the plan
    #[arg(long, value_name = "NAME")]
    planner: Option<String>,
    /// Agent that executes the plan
    #[arg(long, value_name = "NAME")]
    coder: Option<String>,
    /// Model of the planner
    #[arg(long, value_name = "MODEL")]
    planner_model: Option<String>,
    /// Model of the coder
    #[arg(long, value_name = "MODEL")]
    coder_model: Option<String>,
    /// Maximum number of model calls while executing the plan
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max_steps: Option<u32>,
    /// Put the change into the landing queue instead of merging it right away
    #[arg(long, requires = "apply")]
    land: bool,
    /// Run no tests: the change is merged without proof
    #[arg(long, requires = "apply")]
    no_tests: bool,
    #[command(flatten)]
    tests: TaskTests,
    #[command(flatten)]
    record: RecordArgs,
    /// Print one JSON object with the plan and, with --apply, the task, its result and the merge
    #[arg(long, conflicts_with = "land")]
    json: bool,
    /// Task description; - reads it from stdin
    task: String,
}

impl Run {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let config = app.config()?;
        let mut settings = Settings::from_config(config);
        settings.max_steps = self.max_steps.unwrap_or(settings.max_steps);
        let task = prompt_text::read_named("task", self.task.clone(), std::io::stdin())?;
        let roles = Roles::resolve(app, config, &settings, &self).await?;
        app.console.progress(QUIET, &roles.to_string());
        // Before planning, so that no plan is paid for that could not be executed.
        let ready = if self.apply && !settings.dry_run {
            Some(Ready::check(app, &roles, self.no_tests).await?)
        } else {
            None
        };

        let planner = roles.planner.open(&roles.agents)?;
        let options = PlanOptions {
            session: SessionOptions {
                model: roles.planner.model.clone(),
                // The planner runs in the user's own directory, where nothing may change without `--apply`.
                access: DirAccess::ReadOnly,
                ..SessionOptions::in_dir(&app.inputs.cwd)
            },
            is_instructed: roles.planner.is_default,
            with_tools: config.run.planner_tools,
            ..PlanOptions::default()
        };
        let mut interrupts = Interrupts::listen()?;
        let mut spinner = Spinner::new(app.console.is_interactive(), "planning");
        let plan = tokio::select! {
            plan = get_plan(&task, &planner, options) => plan,
            () = interrupts.next() => return Ok(Exit::Interrupted),
        };
        spinner.clear();
        let plan = plan.map_err(|error| planner_error(&roles, error))?;
        let Some(ready) = ready else {
            if self.json {
                app.console.value(&json!({ "plan": plan }))?;
                return Ok(Exit::Done);
            }
            show(app, &plan)?;
            let why = if self.apply {
                "dry run (DRY_RUN or run.dry_run is set)"
            } else {
                "add --apply to execute it"
            };
            app.console.progress(
                QUIET,
                &format!("the planner was read-only and nothing was changed: {why}"),
            );
            return Ok(Exit::Done);
        };
        if !self.json {
            show(app, &plan)?;
        }
        self.apply(app, &roles, &ready, (&task, &plan), interrupts)
            .await
    }

    fn new_task(
        &self,
        queue: &ProjectQueue,
        roles: &Roles,
        (task, plan): (&str, &Plan),
    ) -> NewTask {
        let title = task.lines().next().unwrap_or_default();
        NewTask {
            description: description(task, plan),
            agent: Some(roles.coder.name.clone()),
            agent_settings: roles.coder.task_settings(),
            tests: self.tests.names.clone(),
            edits_tests: self.tests.edits_tests,
            land: self.land,
            ..NewTask::new(queue.project.id, title)
        }
    }

    async fn apply(
        &self,
        app: &App<'_>,
        roles: &Roles,
        Ready {
            queue,
            task_runtime,
        }: &Ready,
        (task, plan): (&str, &Plan),
        mut interrupts: Interrupts,
    ) -> Result<Exit, CliError> {
        let config = &queue.config;
        let approver = approver::terminal_approver(app.console, self.task == "-");
        let progress = Arc::new(ProgressPrinter::new(app.console).with_local_approver(&approver));
        let runner = task_runtime.runner(
            Arc::clone(&queue.store),
            self.record.resolver(app, queue, roles.agents.clone())?,
            Some(Arc::clone(&progress) as Arc<dyn Listener>),
            windlass_runner::RunnerSettings {
                approver,
                ..runner_settings(config)
            },
        );
        let new_task = NewTask {
            target: remote::publish_target(queue, None).await?,
            ..self.new_task(queue, roles, (task, plan))
        };
        let added = queue.store.enqueue(vec![new_task]).await?;
        let Some(added) = added.into_iter().next() else {
            return Err(CliError::failed(
                "internal error: the store returned no task id",
            ));
        };
        let signals = StopSignals::default();
        let work = runner.execute_task(&added.task, signals.clone());
        tokio::pin!(work);
        let result = loop {
            tokio::select! {
                result = &mut work => break result?,
                () = interrupts.next() => {
                    app.console.progress(QUIET, "cancelling");
                    signals.cancel.cancel();
                }
            }
        };
        let mut done = queue.store.task(added.task.id).await?;
        if done.needs_review && self.accept {
            done = queue.store.accept(done.id).await?;
        }
        if self.json {
            let report = RunReport {
                plan,
                task: &done,
                result: &result,
                merge: None,
            };
            return report.finish(app, queue, task_runtime).await;
        }
        summary(app, done.id, progress.steps(done.id), &result)?;
        if result.status == ResultStatus::Blocked {
            answer_hint(app, queue, done.id).await?;
        }
        super::task::print_warnings(app, queue, &done).await?;
        if let Some(why) = super::task::review_needed(&done) {
            return Err(CliError::blocked(why));
        }
        let is_completed = result.status == ResultStatus::Completed;
        match done.branch.as_deref().filter(|_| is_completed) {
            Some(_) if self.land => {
                super::land::land_tasks(app, queue, task_runtime, &[done.id]).await
            }
            Some(branch) => {
                let root = remote::root_of(&*queue.store, &done).await?;
                merge(app, &root, &task_runtime.clones, branch).await
            }
            None => Ok(exit(result.status)),
        }
    }
}

/// Merges the branch of the task, and prints the number of changed lines per file.
async fn merge(
    app: &App<'_>,
    root: &Path,
    clones: &Clones,
    branch: &str,
) -> Result<Exit, CliError> {
    let merged = clones.merge(root, branch).await;
    let merged = merged.map_err(windlass_core::Error::from)?;
    if let MergeOutcome::Merged(merged) = &merged
        && let Ok(stat) = clones.stat(root, &merged.before, &merged.after).await
    {
        app.console.text(&stat)?;
    }
    super::task::report(app, branch, &merged, false)
}

/// Prints the plan as text.
fn show(app: &App<'_>, plan: &Plan) -> Result<(), CliError> {
    app.console.line(&format!("{STRONG}plan{STRONG:#}"))?;
    for (index, step) in plan.plan.iter().enumerate() {
        app.console
            .line(&format!("{:>3}. {}", index + 1, escape_line(step)))?;
    }
    if !plan.tests.is_empty() {
        app.console
            .line(&format!("{STRONG}suggested tests{STRONG:#}"))?;
        for test in &plan.tests {
            app.console.line(&format!("  - {}", escape_line(test)))?;
        }
    }
    Ok(())
}

/// Returns the prompt of the coder: the planner's prompt, the steps, and the original task.
pub(super) fn description(task: &str, plan: &Plan) -> String {
    let mut text = plan.coder_prompt.trim().to_owned();
    text.push_str("\n\nSteps:\n");
    for (index, step) in plan.plan.iter().enumerate() {
        text.push_str(&format!("{}. {step}\n", index + 1));
    }
    text.push_str("\nThe original task, verbatim:\n");
    text.push_str(task);
    text
}

/// Converts an error of the planner; an agent error names the planner, because the coder could have failed too.
fn planner_error(roles: &Roles, error: PlanError) -> CliError {
    let is_agent_error = matches!(error, PlanError::Agent(_));
    let error = CliError::from(error);
    if is_agent_error {
        error.with_context(&format!("planner {}", roles.planner))
    } else {
        error
    }
}

/// Prints how to answer the open questions of a task.
async fn answer_hint(app: &App<'_>, queue: &ProjectQueue, task: TaskId) -> Result<(), CliError> {
    for blocker in queue.store.task_blockers(task).await? {
        if blocker.answer.is_none() {
            let id = blocker.id;
            app.console.line(&format!(
                "{QUIET}to resume: run windlass answer {id} TEXT, then windlass worker --once{QUIET:#}"
            ))?;
        }
    }
    Ok(())
}

fn summary(app: &App<'_>, task: TaskId, steps: u64, result: &TaskResult) -> Result<(), CliError> {
    let files = match result.files_modified.as_slice() {
        [] => "no files changed".to_owned(),
        files => files.join(", "),
    };
    let steps = match steps {
        0 => String::new(),
        1 => " after 1 step".to_owned(),
        more => format!(" after {more} steps"),
    };
    let line = format!("task {task} {}{steps}: {files}", result.status);
    app.console
        .line(&format!("{STRONG}{}{STRONG:#}", escape_line(&line)))?;
    let message = result.error.as_deref().unwrap_or(&result.output);
    app.console
        .line(windlass_core::escape_control(message.trim()).as_ref())?;
    if result.status == ResultStatus::Failed && !result.files_modified.is_empty() {
        app.console.line(&format!(
            "{QUIET}the change is kept: windlass task diff {task}; to continue with it: windlass task retry {task}, then \
            windlass worker --once{QUIET:#}"
        ))?;
    }
    Ok(())
}

fn exit(status: ResultStatus) -> Exit {
    match status {
        ResultStatus::Completed => Exit::Done,
        ResultStatus::Blocked => Exit::Blocked,
        ResultStatus::Cancelled | ResultStatus::Released => Exit::Interrupted,
        _ => Exit::Failed,
    }
}
