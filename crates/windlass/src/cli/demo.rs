//! `windlass demo`: the whole loop in a throw-away repository, with nothing installed but git and sh.
//!
//! An embedded script is what the agent says: played by an agent of our own, or, with `--agent`, by the model
//! that a real one is pointed at. Everything else is what it always is: clone, sandbox, tests, correction, proof.

mod setup;

use std::sync::Arc;

use clap::Args;
use windlass_core::task::NewTask;
use windlass_core::{SessionOptions, escape_line};
use windlass_runner::{PlanOptions, ResultStatus, StopSignals, get_plan};
use windlass_workspace::TestSettings;

use super::app::App;
use super::console::{GOOD, QUIET, STRONG};
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use super::progress::ProgressPrinter;
use super::queue;
use super::task_runtime::{TaskRuntime, runner_settings};
use setup::{DemoSetup, TEST_COMMAND};

/// What is asked for.
const TASK: &str = "Greet the world where no name is given";

#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Let this installed agent do it, on the scripted model
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Keep the repository
    #[arg(long)]
    keep: bool,
}

impl Demo {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let mut interrupts = Interrupts::listen()?;
        let stage = DemoSetup::create(app, self.agent.as_deref()).await?;
        let exit = tokio::select! {
            exit = self.run_demo(app, &stage) => exit,
            () = interrupts.next() => Ok(Exit::Interrupted),
        };
        if self.keep {
            let shown = stage.into_path();
            app.console
                .line(&format!("the repository is at {}", shown.display()))?;
        }
        exit
    }

    async fn run_demo(&self, app: &App<'_>, stage: &DemoSetup) -> Result<Exit, CliError> {
        let console = app.console;
        let said = |text: &str| console.line(&format!("{STRONG}{}{STRONG:#}", escape_line(text)));
        let store = windlass_store::open(&stage.store_url()).await?;
        let project = store
            .add_project(queue::project_in(stage.repository()))
            .await?;
        let tests = TestSettings {
            command: Some(TEST_COMMAND.map(str::to_owned).to_vec()),
            ..TestSettings::default()
        };
        let crew = TaskRuntime::in_dir(app, stage.clones_dir(), tests).await?;
        let settings = runner_settings(&app.config()?);

        said(&format!(
            "A repository with a failing test, and one wish: {TASK}"
        ))?;
        let options = PlanOptions {
            session: SessionOptions::in_dir(stage.repository()),
            ..PlanOptions::default()
        };
        let plan = get_plan(TASK, &stage.handle, options).await?;
        for (place, step) in plan.plan.iter().enumerate() {
            console.line(&format!("{:>3}. {}", place + 1, escape_line(step)))?;
        }
        let progress = Arc::new(ProgressPrinter::new(console));
        let handle = stage.handle.clone();
        let agents = move |_: Option<&str>, _| Ok(handle.clone());
        let runner = crew.runner(
            Arc::clone(&store),
            Arc::new(agents),
            Some(progress),
            settings,
        );
        let wish = NewTask {
            description: plan.coder_prompt,
            ..NewTask::new(project.id, TASK)
        };
        let added = store.enqueue(vec![wish]).await?;
        let Some(task) = added.into_iter().next().map(|added| added.task) else {
            return Err(CliError::failed(
                "the store took the task and did not say which it is",
            ));
        };
        let result = runner.execute_task(&task, StopSignals::default()).await?;
        if result.status != ResultStatus::Completed {
            let words = result.error.unwrap_or(result.output);
            return Err(CliError::failed(format!(
                "the demo ended {}: {words}",
                result.status
            )));
        }
        let Some(proof) = store.proof(task.id).await? else {
            return Err(CliError::failed("the demo ended without a proof"));
        };
        said("The change")?;
        let diff = crew
            .clones
            .diff(&project.root, Some(&proof.base), &proof.commit);
        console.text(&diff.await.map_err(windlass_core::Error::from)?)?;
        said("The proof")?;
        for (name, value) in super::task::proof_lines(&proof) {
            console.line(&format!(
                "{QUIET}{name:>12}{QUIET:#}  {}",
                escape_line(&value)
            ))?;
        }
        console.line(&format!(
            "{GOOD}done{GOOD:#}: the tests were run by Windlass, not by the agent"
        ))?;
        console.line("next, in a project of yours: windlass init, windlass run --apply \"what you want done\"")?;
        Ok(Exit::Done)
    }
}
