//! `windlass chat`: a conversation with an agent on a terminal, or line by line.

mod chat_loop;
mod command;
mod commands;
mod conversation;
mod diff_view;
mod history;
mod inline;
mod input;
mod markdown;
mod questions;
mod recap;
mod records;
mod terminal;
mod turn;
mod turn_view;
mod wrap;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use sha2::{Digest, Sha256};
use windlass_core::Approver;
use windlass_gateway::ModelCatalog;
use windlass_workspace::DirSnapshots;

use super::app::App;
use super::ask::{absolute_dir, seconds};
use super::console::Console;
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use super::turn_printer::OutputMode;
use super::usage;
use crate::config::Config;
use crate::model_catalog::ConfiguredModels;
use crate::registry;
use chat_loop::ChatLoop;
use conversation::{ChatContext, ChatConversation};
use input::ChatInput;
use records::ChatStore;
use terminal::TerminalModes;

/// How long the process of an agent waits for the next prompt of a chat.
pub(super) const PROCESS_IDLE: Duration = Duration::from_secs(30 * 60);

#[derive(Debug, Args)]
#[command(
    after_help = "In the chat, /help lists the commands: /agent, /model, /diff, /undo, /task and more. Without a terminal, or \
    with --plain, each line of stdin is a prompt or a command, and the answers are printed as they are."
)]
pub(super) struct Chat {
    /// Agent to talk with (default: the configured agent)
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Resume this conversation: its ID, the start of it, or a session of the agent
    #[arg(long, value_name = "ID", conflicts_with_all = ["resume", "last", "list"])]
    session: Option<String>,
    /// Choose a conversation to resume from a list
    #[arg(short, long, conflicts_with_all = ["last", "list"])]
    resume: bool,
    /// Resume the last conversation in this directory
    #[arg(short, long, conflicts_with = "list")]
    last: bool,
    /// List the conversations in this directory
    #[arg(long)]
    list: bool,
    /// Print the list as JSON
    #[arg(long, requires = "list")]
    json: bool,
    /// Working directory of the agent
    #[arg(long, value_name = "DIR", default_value = ".")]
    cwd: PathBuf,
    /// Timeout of one turn in seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Forbid the agent to change files
    #[arg(long)]
    read_only: bool,
    /// No line editor, no rendering, no spinner: for screen readers and pipes
    #[arg(long)]
    plain: bool,
    /// Output format of each turn, as in windlass ask; json and events imply --plain
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputMode,
    /// First prompt
    prompt: Option<String>,
}

impl Chat {
    /// Returns `true` if agents are started.
    pub(super) fn needs_agents(&self) -> bool {
        !self.list
    }

    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let cwd = absolute_dir(&self.cwd)?;
        let cwd = cwd.canonicalize().unwrap_or(cwd);
        let state = app.inputs.state_dir();
        let state = state
            .ok_or_else(|| CliError::usage("no state directory: set HOME or XDG_STATE_HOME"))?
            .join("chat");
        let store = ChatStore::new(state.join("sessions"));
        if self.list {
            return commands::list(app.console, &store.list(&cwd), self.json);
        }
        let is_terminal = app.console.is_interactive() && std::io::stdin().is_terminal();
        let is_plain = self.plain || !is_terminal || self.output != OutputMode::Text;
        let plain_console = app.console.without_progress();
        let console = if is_plain {
            &plain_console
        } else {
            app.console
        };
        let app = &in_dir(app, &cwd, console);
        usage::store_calls(app).await;
        let agents = app.catalog()?;
        let models = ConfiguredModels::new(agents.clone(), Arc::clone(app.config()?));
        let names: Vec<String> = models.list().into_iter().map(|model| model.id).collect();
        let (approver, questions) = questions::channel();
        let approver = is_terminal.then(|| Arc::new(approver) as Arc<dyn Approver>);
        let input = if is_plain {
            ChatInput::plain(*console)
        } else {
            ChatInput::editor(state.join("history"), names.clone())?
        };
        let snapshots = open_snapshots(app, &state, &cwd).await;
        if let Err(reason) = &snapshots {
            console.notice(&format!("there is no /diff and no /undo here: {reason}"));
        }
        let mut chat = ChatLoop {
            context: ChatContext {
                console,
                agents,
                store,
                snapshots,
                options: conversation::session_options(cwd.clone(), approver, self.read_only),
                cwd,
                timeout: self.timeout,
            },
            app,
            input,
            interrupts: Interrupts::listen()?,
            questions,
            output: is_plain.then_some(self.output),
            modes: is_terminal.then(TerminalModes::save).flatten(),
            is_read_only: self.read_only,
            agents: names,
        };
        let Some(conversation) = self.open(&mut chat).await? else {
            return Ok(Exit::Done);
        };
        chat.run(conversation, self.prompt).await
    }

    /// Opens the conversation that the flags name. Returns `None` if the user chose none.
    async fn open(&self, chat: &mut ChatLoop<'_>) -> Result<Option<ChatConversation>, CliError> {
        let context = &chat.context;
        let record = if let Some(id) = &self.session {
            let found = context.store.find(id)?;
            if found.is_none() {
                let agent = context.agents.find(self.agent.as_deref())?;
                let opened = ChatConversation::resume_foreign(context, agent, id).await;
                return opened.map(Some);
            }
            found
        } else if self.last {
            let records = context.store.list(&context.cwd);
            Some(
                records
                    .into_iter()
                    .next()
                    .ok_or_else(commands::none_stored)?,
            )
        } else if self.resume {
            match chat.pick().await? {
                Some(record) => Some(record),
                None => return Ok(None),
            }
        } else {
            None
        };
        let context = &chat.context;
        let Some(record) = record else {
            let agent = context.agents.find(self.agent.as_deref())?;
            return ChatConversation::new(context, agent).map(Some);
        };
        if record.cwd != context.cwd {
            return Err(CliError::usage(format!(
                "the conversation {} is about {}: run windlass chat there, or pass --cwd",
                record.id,
                record.cwd.display()
            )));
        }
        let other = self.agent.clone().filter(|agent| *agent != record.agent);
        let mut conversation = ChatConversation::resume(context, record).await?;
        if let Some(other) = other {
            let agent = context.agents.find(Some(&other))?;
            conversation.change_agent(context, agent).await?;
        }
        Ok(Some(conversation))
    }
}

/// Returns the program as it is in the working directory of the chat: tasks belong to that directory.
fn in_dir<'a>(app: &App<'_>, cwd: &Path, console: &'a Console) -> App<'a> {
    let mut inputs = app.inputs.clone();
    let config = if inputs.cwd == cwd {
        app.config.clone()
    } else {
        inputs.cwd = cwd.to_owned();
        Config::load(&inputs).map(Arc::new)
    };
    App {
        registry: Arc::clone(&app.registry),
        machine: app.machine.clone(),
        bridge: app.bridge.clone(),
        inputs,
        config,
        console,
        notices: Arc::clone(&app.notices),
        telemetry: Arc::clone(&app.telemetry),
    }
}

/// Opens the snapshots of the working directory.
async fn open_snapshots(app: &App<'_>, state: &Path, cwd: &Path) -> Result<DirSnapshots, String> {
    let config = app.config().map_err(|error| error.to_string())?;
    let sandbox = registry::sandbox(config).await?;
    let name = Sha256::digest(cwd.as_os_str().as_encoded_bytes());
    let name: String = name
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let opened = DirSnapshots::open(sandbox, &state.join("snapshots").join(name), cwd).await;
    opened.map_err(|error| error.to_string())
}
