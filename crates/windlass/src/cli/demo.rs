//! `windlass demo`: runs the full task loop in a temporary repository; it needs only git and sh.
//!
//! An embedded script defines the responses. The built-in scripted agent plays it, or, with `--agent`, the scripted
//! model that a real agent runs against. Clone, sandbox, tests, correction and proof are the same as for any task.

mod setup;

use std::sync::Arc;

use clap::Args;
use windlass_core::{SessionOptions, escape_line};
use windlass_runner::{PlanOptions, ResultStatus, StopSignals, get_plan};
use windlass_tasks::{NewTask, Proof};
use windlass_workspace::TestSettings;

use super::app::App;
use super::console::{Console, GOOD, QUIET, STRONG};
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use super::progress::ProgressPrinter;
use super::queue;
use super::task_runtime::{TaskRuntime, runner_settings};
use setup::{DemoSetup, TEST_COMMAND};

/// The demo's task.
const TASK: &str = "Greet the world where no name is given";

#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Use this installed agent, driven by the scripted model
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Keep the repository and print its path
    #[arg(long)]
    keep: bool,
}

impl Demo {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let mut interrupts = Interrupts::listen()?;
        let setup = DemoSetup::create(app, self.agent.as_deref()).await?;
        let exit = tokio::select! {
            exit = self.run_demo(app, &setup) => exit,
            () = interrupts.next() => Ok(Exit::Interrupted),
        };
        if self.keep {
            let path = setup.into_path();
            app.console
                .line(&format!("the repository is at {}", path.display()))?;
        }
        exit
    }

    async fn run_demo(&self, app: &App<'_>, setup: &DemoSetup) -> Result<Exit, CliError> {
        let console = app.console;
        let title = |text: &str| console.line(&format!("{STRONG}{}{STRONG:#}", escape_line(text)));
        let store = windlass_store::open(&setup.store_url()).await?;
        let project = store
            .add_project(queue::project_in(setup.repository()))
            .await?;
        let tests = TestSettings {
            command: Some(TEST_COMMAND.map(str::to_owned).to_vec()),
            ..TestSettings::default()
        };
        let task_runtime = TaskRuntime::in_dir(app, setup.clones_dir(), tests).await?;
        let settings = runner_settings(app.config()?);

        title(&format!(
            "Demo repository with a failing test. Task: {TASK}"
        ))?;
        let options = PlanOptions {
            session: SessionOptions::in_dir(setup.repository()),
            ..PlanOptions::default()
        };
        let plan = get_plan(TASK, &setup.handle, options).await?;
        for (index, step) in plan.plan.iter().enumerate() {
            console.line(&format!("{:>3}. {}", index + 1, escape_line(step)))?;
        }
        let progress = Arc::new(ProgressPrinter::new(console));
        let handle = setup.handle.clone();
        let agents = move |_: Option<&str>, _| Ok(handle.clone());
        let runner = task_runtime.runner(
            Arc::clone(&store),
            Arc::new(agents),
            Some(progress),
            settings,
        );
        let task = NewTask {
            description: plan.coder_prompt,
            ..NewTask::new(project.id, TASK)
        };
        let added = store.enqueue(vec![task]).await?;
        let Some(task) = added.into_iter().next().map(|added| added.task) else {
            return Err(CliError::failed(
                "internal error: the store returned no task id",
            ));
        };
        let result = runner.execute_task(&task, StopSignals::default()).await?;
        if result.status != ResultStatus::Completed {
            let message = result.error.unwrap_or(result.output);
            return Err(CliError::failed(format!(
                "the demo ended {}: {message}",
                result.status
            )));
        }
        let Some(proof) = store.proof(task.id).await? else {
            return Err(CliError::failed("the demo ended without a proof"));
        };
        title("The change")?;
        let diff = task_runtime
            .clones
            .diff(&project.root, Some(&proof.base), &proof.commit);
        console.text(&diff.await.map_err(windlass_core::Error::from)?)?;
        title("The proof")?;
        print_proof(console, &proof)?;
        console.line(&format!(
            "{GOOD}done{GOOD:#}: Windlass ran the tests, not the agent"
        ))?;
        console.line("next, in your project: windlass init, windlass run --apply \"TASK\"")?;
        Ok(Exit::Done)
    }
}

fn print_proof(console: &Console, proof: &Proof) -> Result<(), CliError> {
    for (name, value) in super::proof_lines::proof_lines(proof) {
        console.line(&format!(
            "{QUIET}{name:>12}{QUIET:#}  {}",
            escape_line(&value)
        ))?;
    }
    Ok(())
}
