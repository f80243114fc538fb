//! The command line: what a person types, and what they see.

mod agents;
mod app;
mod approvals;
mod approver;
mod ask;
mod blockers;
mod completions;
mod config;
mod console;
mod context;
mod demo;
mod doctor;
mod exit;
mod follow;
mod init;
mod interrupt;
mod logging;
mod man;
mod model;
mod progress;
mod prompt_text;
mod queue;
mod record;
mod replay;
mod run;
mod scenario;
mod schema;
mod scripted;
mod serve;
mod spinner;
mod task;
mod task_runtime;
mod trace;
mod trust;
mod turn_printer;
mod verify;
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use windlass_core::AgentRegistry;

use app::App;
use console::Console;
use exit::CliError;
pub use exit::Exit;

/// What a script may want to know.
const AFTER_HELP: &str = "Exit codes: 0 done, 1 the agent or task failed, 2 usage or configuration, \
    3 blocked, 4 agent not available, 124 timeout, 130 interrupted";

/// How long work that nobody awaits any more may take before the program ends.
const LAST_WORK: Duration = Duration::from_millis(200);

/// One runtime through which every coding agent does real work.
#[derive(Debug, Parser)]
#[command(
    name = "windlass",
    version,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = AFTER_HELP
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
struct Global {
    /// Use this configuration file in place of the project's; it counts as trusted
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Say more on stderr; twice for still more (or set WINDLASS_LOG)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Write without colours
    #[arg(long, global = true)]
    no_color: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Watch the whole loop in a throw-away repository: plan, edit, red, correction, green, proof
    Demo(demo::Demo),
    /// Put one prompt to an agent and show what it does
    Ask(ask::Ask),
    /// Plan a task; with --apply have it done, tested and merged
    Run(run::Run),
    /// The queue: add, list, show, log, diff, merge, retry, cancel, plan
    Task(task::Tasks),
    /// List the questions that tasks wait for
    Blockers(blockers::Blockers),
    /// Answer a question; its task goes on
    Answer(blockers::Answer),
    /// List what agents at work ask before they act
    Approvals(approvals::Approvals),
    /// Decide such a request; its task goes on
    Decide(approvals::Decide),
    /// Take tasks from the store and work on them
    Worker(worker::Worker),
    /// Serve API, WebSocket and dashboard on this machine, with workers beside them
    Serve(serve::Serve),
    /// Check a task's proof again, from scratch
    Verify(verify::Verify),
    /// Show what an attempt went through, step by step
    Trace(trace::Trace),
    /// List the agents with what they can do and how they are
    Agents(agents::Agents),
    /// Say what is missing on this machine and how to get it
    Doctor(doctor::Doctor),
    /// Write a windlass.toml for this project
    Init(init::Init),
    /// Let the project's windlass.toml and .env choose commands, endpoints and agents
    Trust(trust::Trust),
    /// Show the configuration and where each value came from
    Config(config::Show),
    /// Serve a model that says what a script says, for real agents to run on
    Model(model::Model),
    /// Put one prompt to an agent and keep what it does as a cassette
    Record(record::Record),
    /// Play a cassette: every prompt in it, or one
    Replay(replay::Replay),
    /// Play scenarios: what an agent should be able to do, tried out
    Scenario(scenario::Scenarios),
    /// Show which files and symbols a task is probably about
    Context(context::Context),
    /// Bring the code index of a folder up to date
    Index(context::Index),
    /// Print a completion script for a shell
    Completions(completions::Completions),
    /// Print the manual page, or write the page of every command to a folder
    Man(man::Manual),
}

impl Command {
    /// Whether it needs to know which agents this machine has.
    fn reaches_agents(&self) -> bool {
        if let Self::Task(tasks) = self {
            return tasks.reaches_agents();
        }
        matches!(
            self,
            Self::Ask(_)
                | Self::Run(_)
                | Self::Worker(_)
                | Self::Serve(_)
                | Self::Demo(_)
                | Self::Agents(_)
                | Self::Doctor(_)
                | Self::Init(_)
                | Self::Record(_)
                | Self::Scenario(_)
        )
    }
}

/// Runs the program on this process's arguments, with these backends.
pub fn main(registry: AgentRegistry) -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    let console = Console::new(cli.global.no_color);
    logging::start(cli.global.verbose, cli.global.no_color);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(run(cli, registry, &console));
            // A thread that reads from a terminal ends with the next line; nobody waits for that.
            runtime.shutdown_timeout(LAST_WORK);
            outcome
        }
        Err(error) => Err(CliError::failed(format!("no runtime: {error}"))),
    };
    exit::code(outcome, &console)
}

async fn run(cli: Cli, registry: AgentRegistry, console: &Console) -> Result<Exit, CliError> {
    let mut app = App::new(cli.global.config, registry, console)?;
    if cli.command.reaches_agents() {
        app = app.with_local_agents().await;
    }
    match cli.command {
        Command::Demo(demo) => demo.run(&app).await,
        Command::Ask(ask) => ask.run(&app).await,
        Command::Run(run) => run.run(&app).await,
        Command::Task(tasks) => tasks.run(&app).await,
        Command::Blockers(blockers) => blockers.run(&app).await,
        Command::Answer(answer) => answer.run(&app).await,
        Command::Approvals(approvals) => approvals.run(&app).await,
        Command::Decide(decide) => decide.run(&app).await,
        Command::Worker(worker) => worker.run(&app).await,
        Command::Serve(serve) => serve.run(&app).await,
        Command::Verify(verify) => verify.run(&app).await,
        Command::Trace(trace) => trace.run(&app).await,
        Command::Agents(agents) => agents.run(&app).await,
        Command::Doctor(doctor) => doctor.run(&app).await,
        Command::Init(init) => init.run(&app).await,
        Command::Trust(trust) => trust.run(&app),
        Command::Config(show) => show.run(&app),
        Command::Model(model) => model.run(&app).await,
        Command::Record(record) => record.run(&app).await,
        Command::Replay(replay) => replay.run(&app).await,
        Command::Scenario(scenarios) => scenarios.run(&app).await,
        Command::Context(context) => context.run(&app).await,
        Command::Index(index) => index.run(&app).await,
        Command::Completions(completions) => completions.run(&app),
        Command::Man(manual) => manual.run(&app),
    }
}
