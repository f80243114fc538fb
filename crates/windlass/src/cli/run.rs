//! `windlass run`: a plan first, and with `--apply` the work, proved by the project's tests.

mod roles;

use std::sync::Arc;

use clap::Args;
use windlass_core::task::NewTask;
use windlass_core::{SessionOptions, escape_line};
use windlass_runner::{
    Listener, Plan, PlanError, PlanOptions, ResultStatus, StopSignals, TaskResult, get_plan,
};
use windlass_workspace::MergeOutcome;

use super::app::App;
use super::approver;
use super::console::{QUIET, STRONG};
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use super::progress::ProgressPrinter;
use super::prompt_text;
use super::queue::TaskQueue;
use super::spinner::Spinner;
use super::task_runtime::{TaskRuntime, runner_settings, test_settings};
use crate::settings::Settings;
use roles::Roles;

#[derive(Debug, Args)]
pub(super) struct Run {
    /// Carry the plan out, prove it by the tests, and bring it into what is checked out
    #[arg(long)]
    apply: bool,
    /// The agent that plans
    #[arg(long, value_name = "NAME")]
    planner: Option<String>,
    /// The agent that carries the plan out
    #[arg(long, value_name = "NAME")]
    coder: Option<String>,
    /// The planner's model
    #[arg(long, value_name = "MODEL")]
    planner_model: Option<String>,
    /// The coder's model
    #[arg(long, value_name = "MODEL")]
    coder_model: Option<String>,
    /// How many times a model may be asked while it carries the plan out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max_steps: Option<u32>,
    /// What is to be done; - reads it from stdin
    task: String,
}

impl Run {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let config = app.config()?;
        let mut settings = Settings::from_config(&config);
        settings.max_steps = self.max_steps.unwrap_or(settings.max_steps);
        let task = prompt_text::read(self.task.clone(), std::io::stdin())?;
        let cast = Roles::resolve(app, &config, &settings, &self)?;
        app.console.progress(QUIET, &cast.to_string());
        // Where nothing could be carried out nobody need plan.
        let queue = match self.apply && !settings.dry_run {
            true => Some(TaskQueue::with_config(app, config).await?),
            false => None,
        };

        let planner = cast.planner.open(&cast.roster)?;
        let options = PlanOptions {
            session: SessionOptions {
                model: cast.planner.model.clone(),
                // It works in the user's own folder, where nothing changes before somebody says so.
                read_only: true,
                ..SessionOptions::in_dir(&app.inputs.cwd)
            },
            is_instructed: cast.planner.is_default,
            ..PlanOptions::default()
        };
        let mut interrupts = Interrupts::listen()?;
        let mut spinner = Spinner::new(app.console.is_interactive(), "planning");
        let plan = tokio::select! {
            plan = get_plan(&task, &planner, options) => plan,
            () = interrupts.next() => return Ok(Exit::Interrupted),
        };
        spinner.clear();
        let plan = plan.map_err(|error| planner_error(&cast, error))?;
        show(app, &plan)?;
        let Some(queue) = queue else {
            let why = if self.apply {
                "this is a dry run, as DRY_RUN or run.dry_run says"
            } else {
                "add --apply to have it done"
            };
            app.console
                .progress(QUIET, &format!("nothing was changed: {why}"));
            return Ok(Exit::Done);
        };
        self.apply(app, &cast, &queue, (&task, &plan), interrupts)
            .await
    }

    async fn apply(
        &self,
        app: &App<'_>,
        cast: &Roles,
        queue: &TaskQueue,
        (task, plan): (&str, &Plan),
        mut interrupts: Interrupts,
    ) -> Result<Exit, CliError> {
        let config = &queue.config;
        let crew = TaskRuntime::for_store(app, config, test_settings(config)).await?;
        let coder = cast.coder.open(&cast.roster)?;
        cast.roster.insert(&cast.coder.name, coder);
        let approver = approver::terminal_approver(app.console, self.task == "-");
        let progress = Arc::new(ProgressPrinter::new(app.console).with_local_approver(&approver));
        let runner = crew.runner(
            Arc::clone(&queue.store),
            Arc::new(cast.roster.clone()),
            Some(Arc::clone(&progress) as Arc<dyn Listener>),
            windlass_runner::RunnerSettings {
                model: cast.coder.model.clone(),
                approver,
                ..runner_settings(config)
            },
        );
        let title = task.lines().next().unwrap_or_default();
        let wish = NewTask {
            description: description(task, plan),
            agent: Some(cast.coder.name.clone()),
            ..NewTask::new(queue.project.id, title)
        };
        let added = queue.store.enqueue(vec![wish]).await?;
        let Some(added) = added.into_iter().next() else {
            return Err(CliError::failed(
                "the store took the task and did not say which it is",
            ));
        };
        let signals = StopSignals::default();
        let work = runner.execute_task(&added.task, signals.clone());
        tokio::pin!(work);
        let result = loop {
            tokio::select! {
                result = &mut work => break result?,
                () = interrupts.next() => {
                    app.console.progress(QUIET, "stopping");
                    signals.cancel.cancel();
                }
            }
        };
        let done = queue.store.task(added.task.id).await?;
        summary(app, done.id, progress.steps(done.id), &result)?;
        if result.status == ResultStatus::Blocked {
            answer_hint(app, queue, done.id).await?;
        }
        let Some(branch) = done
            .branch
            .filter(|_| result.status == ResultStatus::Completed)
        else {
            return Ok(exit(result.status));
        };
        let merged = crew.clones.merge(&queue.project.root, &branch).await;
        let merged = merged.map_err(windlass_core::Error::from)?;
        if let MergeOutcome::Merged(merged) = &merged
            && let Ok(stat) = crew
                .clones
                .stat(&queue.project.root, &merged.before, &merged.after)
                .await
        {
            app.console.text(&stat)?;
        }
        super::task::report(app, &branch, &merged, false)
    }
}

/// The plan, the way a person reads it.
fn show(app: &App<'_>, plan: &Plan) -> Result<(), CliError> {
    app.console.line(&format!("{STRONG}plan{STRONG:#}"))?;
    for (place, step) in plan.plan.iter().enumerate() {
        app.console
            .line(&format!("{:>3}. {}", place + 1, escape_line(step)))?;
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

/// What the coder is told: the planner's words, the steps, and what was asked for in the first place.
fn description(task: &str, plan: &Plan) -> String {
    let mut text = plan.coder_prompt.trim().to_owned();
    text.push_str("\n\nSteps:\n");
    for (place, step) in plan.plan.iter().enumerate() {
        text.push_str(&format!("{}. {step}\n", place + 1));
    }
    text.push_str("\nWhat was asked for, word by word:\n");
    text.push_str(task);
    text
}

/// A planner that failed, by name: there are two who could have.
fn planner_error(cast: &Roles, error: PlanError) -> CliError {
    let is_away = matches!(error, PlanError::Agent(_));
    let failure = CliError::from(error);
    match is_away {
        true => failure.with_context(&format!("planner {}", cast.planner)),
        false => failure,
    }
}

/// What to do about the questions that a task waits for.
async fn answer_hint(app: &App<'_>, queue: &TaskQueue, task: i64) -> Result<(), CliError> {
    for question in queue.store.task_blockers(task).await? {
        if question.answer.is_none() {
            let id = question.id;
            app.console.line(&format!(
                "{QUIET}to go on: windlass answer {id} TEXT, then windlass worker --once{QUIET:#}"
            ))?;
        }
    }
    Ok(())
}

fn summary(app: &App<'_>, task: i64, steps: u64, result: &TaskResult) -> Result<(), CliError> {
    let files = match result.files_modified.as_slice() {
        [] => "no files".to_owned(),
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
    let words = result.error.as_deref().unwrap_or(&result.output);
    app.console
        .line(windlass_core::escape_control(words.trim()).as_ref())?;
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
