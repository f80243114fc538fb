//! The command line: commands, flags, output and exit codes.

mod account_limits;
mod acp;
mod agents;
mod app;
mod approvals;
mod approver;
mod ask;
mod audit;
mod blockers;
mod chat;
mod completions;
mod config;
mod console;
mod context;
mod default_agent;
mod demo;
mod doctor;
mod editor;
mod eval;
mod exit;
mod follow;
mod host_ops;
mod init;
mod interrupt;
mod land;
mod logging;
mod machine;
mod man;
mod masking;
mod mcp;
mod model;
mod new_repository;
mod notify;
mod outbox;
mod progress;
mod project;
mod prompt_text;
mod proof;
mod proof_lines;
mod publish;
mod question;
mod queue;
mod record;
mod recordings;
pub mod reference;
mod remote;
mod replay;
mod repository;
mod review;
mod run;
mod scenario;
mod schedule;
mod schema;
mod scripted;
mod serve;
mod spinner;
mod store;
mod table;
mod task;
mod task_runtime;
mod token;
mod tool_output;
mod trace;
mod trust;
mod turn_printer;
mod usage;
mod verify;
mod worker;
mod worker_agents;
mod worker_args;
mod worker_list;
mod worker_pause;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use windlass_core::AgentRegistry;

use app::App;
use console::Console;
use exit::CliError;
pub use exit::Exit;

use crate::config::Flag;

/// Exit codes, shown after the help text.
const AFTER_HELP: &str = "Exit codes: 0 done, 1 the agent or task failed, 2 usage or configuration, \
    3 blocked, 4 agent not available, 124 timeout, 130 interrupted";

/// Number of threads of a command that serves no clients and runs no queue.
const SHORT_COMMAND_THREADS: usize = 2;

/// How long background work may still run before the program exits.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(200);

/// Drive coding agents: run tasks, serve agents as models, record and replay turns
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
    /// Use this configuration file instead of the project's (trusted)
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Increase log verbosity; repeat for more (or set WINDLASS_LOG)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Format of the log: text for people, or json with one object per line
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        value_enum,
        hide_possible_values = true,
        default_value_t
    )]
    log_format: logging::LogFormat,
    /// Disable colored output
    #[arg(long, global = true)]
    no_color: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the full task loop in a temporary repository: plan, edit, failing tests, correction, passing tests, proof
    Demo(demo::Demo),
    /// Send one prompt to an agent and print the response
    Ask(ask::Ask),
    /// Talk with an agent on the terminal
    Chat(chat::Chat),
    /// Plan a task; with --apply, execute the plan, run the tests and merge
    Run(run::Run),
    /// Manage the task queue
    Task(task::Tasks),
    /// Land proved changes on their target branch: merge, test, then move the branch
    Land(land::Land),
    /// Manage projects: add, list, show, remove; the note for their agents
    Project(project::Projects),
    /// List, pause, resume and remove schedules
    Schedule(schedule::SchedulesCommand),
    /// List open questions from blocked tasks
    Blockers(blockers::Blockers),
    /// Answer a question and resume its task
    Answer(blockers::Answer),
    /// List pending permission requests
    Approvals(approvals::Approvals),
    /// Approve or deny a permission request
    Decide(approvals::Decide),
    /// Review the change of a task: comment, request changes or approve
    Review(review::ReviewCommand),
    /// Claim tasks from the queue and run them
    Worker(worker::Worker),
    /// Serve the HTTP API, WebSocket and dashboard, and run workers
    Serve(serve::Serve),
    /// Serve the tasks to MCP clients over stdin and stdout
    Mcp(mcp::Mcp),
    /// Test notifications, or list those that were sent
    Notify(notify::Notify),
    /// Manage the tokens of the server: scopes, projects, expiry
    Token(token::Tokens),
    /// List who did what through the server: changes and refused requests
    Audit(audit::Audit),
    /// Serve agents and tasks to an editor over the Agent Client Protocol (ACP), on stdin and stdout
    Acp(acp::Acp),
    /// Print a task's proof as text, JSON or a signed statement
    Proof(proof::Proofs),
    /// Verify a task's proof in a fresh checkout, or a proof file offline
    Verify(verify::Verify),
    /// Show the trace of an attempt or a request
    Trace(trace::Trace),
    /// Show the tokens and the cost of the agents' model calls
    Usage(usage::UsageCommand),
    /// List agents with version, capabilities and health
    Agents(agents::Agents),
    /// Check the installation and report what is missing
    Doctor(doctor::Doctor),
    /// Write a windlass.toml for this project
    Init(init::Init),
    /// Show where tasks are stored; back up, restore, check, prune or move the store
    Store(store::Stores),
    /// Trust the project's windlass.toml and .env
    Trust(trust::Trust),
    /// Show the effective configuration and the source of each value
    Config(config::Show),
    /// Serve a scripted model for agents to run against
    Model(model::Model),
    /// Send one prompt to an agent and record the turn as a cassette
    Record(record::Record),
    /// Replay a cassette: all of its prompts, or one
    Replay(replay::Replay),
    /// Compare agents: each does the same tasks several times, and the proofs decide
    Eval(eval::Eval),
    /// Run scenario tests against an agent
    Scenario(scenario::Scenarios),
    /// Rank the files and symbols relevant to a task
    Context(context::Context),
    /// Update the code index of a directory
    Index(context::Index),
    /// Print a completion script for a shell
    Completions(completions::Completions),
    /// Print the manual page, or write the pages of all commands to a directory
    Man(man::Manual),
}

impl Command {
    /// Returns `true` if the command serves clients or runs tasks until it is stopped.
    fn is_service(&self) -> bool {
        match self {
            Self::Worker(worker) => worker.is_service(),
            _ => matches!(self, Self::Serve(_)),
        }
    }

    /// Returns the flags that set a key of the configuration.
    fn settings(&self, cwd: &Path) -> Vec<Flag> {
        match self {
            Self::Serve(serve) => serve.settings(cwd),
            _ => Vec::new(),
        }
    }

    /// Returns `true` if the command uses settings that need trust. Another one does not ask for it.
    fn offers_trust(&self) -> bool {
        self.needs_agents()
            && !matches!(
                self,
                Self::Init(_) | Self::Doctor(_) | Self::Agents(_) | Self::Mcp(_)
            )
    }

    /// Returns `true` if the command needs the agents of this machine.
    fn needs_agents(&self) -> bool {
        match self {
            Self::Task(tasks) => return tasks.needs_agents(),
            Self::Worker(worker) => return worker.is_service(),
            Self::Chat(chat) => return chat.needs_agents(),
            _ => {}
        }
        if let Self::Review(review) = self {
            return review.needs_agents();
        }
        matches!(
            self,
            Self::Ask(_)
                | Self::Run(_)
                | Self::Land(_)
                | Self::Serve(_)
                | Self::Mcp(_)
                | Self::Demo(_)
                | Self::Agents(_)
                | Self::Doctor(_)
                | Self::Init(_)
                | Self::Record(_)
                | Self::Scenario(_)
                | Self::Eval(_)
        )
    }
}

/// Runs the program with the arguments of this process and the given backends.
pub fn main(registry: AgentRegistry) -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    let console = Console::new(cli.global.no_color);
    logging::start(&cli.global, cli.command.is_service());
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    // By default there is a thread for each core.
    if !cli.command.is_service() {
        runtime.worker_threads(SHORT_COMMAND_THREADS);
    }
    let outcome = match runtime.enable_all().build() {
        Ok(runtime) => {
            let outcome = runtime.block_on(run(cli, registry, &console));
            // A thread that reads from a terminal ends only with the next line, so do not wait for it.
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
            outcome
        }
        Err(error) => Err(CliError::failed(format!("no runtime: {error}"))),
    };
    exit::code(outcome, &console)
}

async fn run(cli: Cli, registry: AgentRegistry, console: &Console) -> Result<Exit, CliError> {
    let flags = |cwd: &Path| cli.command.settings(cwd);
    let mut app = App::new(cli.global.config, flags, registry, console)?;
    if cli.command.offers_trust() && trust::offer(&app)? {
        app.reload();
    }
    if cli.command.needs_agents() {
        app = match &cli.command {
            Command::Chat(_) => app.with_warm_agents(chat::PROCESS_IDLE).await,
            _ => app.with_local_agents().await,
        };
    }
    let bridge = app.bridge.clone();
    let telemetry = Arc::clone(&app.telemetry);
    let outcome = run_command(cli.command, app).await;
    if let Some(bridge) = bridge {
        bridge.flush().await;
    }
    if let Some(Some(telemetry)) = telemetry.get() {
        telemetry.flush().await;
    }
    outcome
}

async fn run_command(command: Command, app: App<'_>) -> Result<Exit, CliError> {
    match command {
        Command::Demo(demo) => demo.run(&app).await,
        Command::Ask(ask) => ask.run(&app).await,
        Command::Chat(chat) => chat.run(&app).await,
        Command::Run(run) => run.run(&app).await,
        Command::Task(tasks) => tasks.run(&app).await,
        Command::Land(land) => land.run(&app).await,
        Command::Project(projects) => projects.run(&app).await,
        Command::Schedule(schedules) => schedules.run(&app).await,
        Command::Blockers(blockers) => blockers.run(&app).await,
        Command::Answer(answer) => answer.run(&app).await,
        Command::Approvals(approvals) => approvals.run(&app).await,
        Command::Decide(decide) => decide.run(&app).await,
        Command::Review(review) => review.run(&app).await,
        Command::Worker(worker) => worker.run(&app).await,
        Command::Serve(serve) => serve.run(&app).await,
        Command::Mcp(mcp) => mcp.run(&app).await,
        Command::Notify(notify) => notify.run(&app).await,
        Command::Token(tokens) => tokens.run(&app).await,
        Command::Audit(audit) => audit.run(&app).await,
        Command::Proof(proof) => proof.run(&app).await,
        Command::Acp(acp) => acp.run(&app).await,
        Command::Verify(verify) => verify.run(&app).await,
        Command::Trace(trace) => trace.run(&app).await,
        Command::Usage(usage) => usage.run(&app).await,
        Command::Agents(agents) => agents.run(&app).await,
        Command::Doctor(doctor) => doctor.run(&app).await,
        Command::Init(init) => init.run(&app).await,
        Command::Store(stores) => stores.run(&app).await,
        Command::Trust(trust) => trust.run(&app),
        Command::Config(show) => show.run(&app),
        Command::Model(model) => model.run(&app).await,
        Command::Record(record) => record.run(&app).await,
        Command::Replay(replay) => replay.run(&app).await,
        Command::Scenario(scenarios) => scenarios.run(&app).await,
        Command::Eval(eval) => eval.run(&app).await,
        Command::Context(context) => context.run(&app).await,
        Command::Index(index) => index.run(&app).await,
        Command::Completions(completions) => completions.run(&app),
        Command::Man(manual) => manual.run(&app),
    }
}
