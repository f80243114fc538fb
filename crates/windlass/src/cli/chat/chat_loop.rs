//! The loop of a chat: reads a line, runs it, and reads the next.

use tokio::sync::mpsc;
use windlass_core::{Clock, DirAccess, SystemClock, escape_line};

use super::command::{self, ChatCommand, ChatLine};
use super::commands;
use super::conversation::{ChatContext, ChatConversation};
use super::input::{ChatEntry, ChatInput};
use super::markdown::Markdown;
use super::questions::Question;
use super::records::ChatRecord;
use super::terminal::{self, TerminalModes};
use super::turn::ChatTurnRunner;
use crate::cli::app::App;
use crate::cli::console::{QUIET, STRONG};
use crate::cli::exit::{CliError, Exit};
use crate::cli::interrupt::Interrupts;
use crate::cli::turn_printer::OutputMode;

/// What the loop of a chat needs.
pub(super) struct ChatLoop<'a> {
    pub(super) app: &'a App<'a>,
    pub(super) context: ChatContext<'a>,
    pub(super) input: ChatInput,
    pub(super) interrupts: Interrupts,
    pub(super) questions: mpsc::Receiver<Question>,
    /// `None` shows turns on a terminal.
    pub(super) output: Option<OutputMode>,
    pub(super) modes: Option<TerminalModes>,
    pub(super) is_read_only: bool,
    /// The names of the agents.
    pub(super) agents: Vec<String>,
}

impl ChatLoop<'_> {
    /// Runs the chat until the user leaves or the input ends.
    pub(super) async fn run(
        &mut self,
        mut conversation: ChatConversation,
        first: Option<String>,
    ) -> Result<Exit, CliError> {
        self.greet(&conversation)?;
        let mut exit = Exit::Done;
        let mut next = first;
        loop {
            let line = match next.take() {
                Some(prompt) => ChatLine::Prompt(prompt),
                None => match self.read(&conversation).await? {
                    Some(line) => line,
                    None => break,
                },
            };
            match line {
                ChatLine::Empty => {}
                ChatLine::Invalid(reason) => self.context.console.error(&reason),
                ChatLine::Command(ChatCommand::Quit) => break,
                ChatLine::Command(command) => {
                    let done = self.command(command, &mut conversation).await;
                    if let Err(error) = done {
                        self.context.console.error(&error.to_string());
                    }
                }
                ChatLine::Prompt(prompt) => {
                    let (ended, is_terminated) = self.turn(&mut conversation, &prompt).await?;
                    exit = ended;
                    if is_terminated {
                        exit = Exit::Interrupted;
                        break;
                    }
                }
            }
        }
        conversation.close().await;
        self.say_goodbye(&conversation)?;
        // A person at the terminal has seen what failed.
        let is_script = self.output.is_some() && self.modes.is_none();
        Ok(
            if is_script || exit == Exit::Interrupted && self.output.is_some() {
                exit
            } else {
                Exit::Done
            },
        )
    }

    /// Reads the next line. Returns `None` at the end.
    async fn read(
        &mut self,
        conversation: &ChatConversation,
    ) -> Result<Option<ChatLine>, CliError> {
        let prompt = format!("{} › ", conversation.agent.name);
        loop {
            let entry = tokio::select! {
                entry = self.input.read(&prompt) => entry?,
                // On a terminal, Ctrl-C is an entry; a signal comes from elsewhere.
                () = self.interrupts.next() => return Ok(None),
            };
            match entry {
                ChatEntry::End => return Ok(None),
                ChatEntry::Interrupted => {
                    self.context
                        .console
                        .progress(QUIET, "Ctrl-D or /quit leaves the chat");
                }
                ChatEntry::Line(line) => {
                    let line_start = line.trim();
                    if !line_start.is_empty() {
                        let masker = conversation.handle.masker();
                        self.input.remember(&masker.text(line_start));
                    }
                    return Ok(Some(command::parse(&line)));
                }
            }
        }
    }

    /// Runs a prompt. Returns its exit code, and whether the program must end.
    async fn turn(
        &mut self,
        conversation: &mut ChatConversation,
        prompt: &str,
    ) -> Result<(Exit, bool), CliError> {
        let started = SystemClock::new().now();
        if let Some(modes) = &self.modes {
            modes.set_echo(self.output.is_some());
        }
        let mut runner = ChatTurnRunner {
            context: &self.context,
            input: &self.input,
            interrupts: &mut self.interrupts,
            questions: &mut self.questions,
            output: self.output,
            is_read_only: self.is_read_only,
        };
        let ended = runner.run(conversation, prompt).await;
        if let Some(modes) = &self.modes {
            modes.set_echo(true);
        }
        let console = self.context.console;
        let end = match ended {
            Ok(end) => end,
            Err(error) if error.is_broken_pipe() => return Err(error),
            Err(error) => {
                console.error(&error.to_string());
                return Ok((error.exit(), false));
            }
        };
        let files = conversation
            .end_turn(&self.context, prompt, &end.answer)
            .await?;
        if self.output.is_none() && !files.is_empty() {
            let line = format!(
                "  changed {}: {}  (/diff last, /undo)",
                commands::count(files.len()),
                brief_list(&files)
            );
            console.progress(QUIET, &line);
        }
        for path in windlass_workspace::new_repositories(&self.context.cwd, started) {
            let path = path.display().to_string();
            console.notice(&format!(
                "the agent created a git repository in {}: git commands there run what its settings name",
                escape_line(&path)
            ));
        }
        Ok((end.exit, end.is_terminated))
    }

    async fn command(
        &mut self,
        command: ChatCommand,
        conversation: &mut ChatConversation,
    ) -> Result<(), CliError> {
        let context = &self.context;
        match command {
            ChatCommand::Help => commands::help(context),
            ChatCommand::Agent(name) => {
                commands::agent(context, conversation, name.as_deref(), &self.agents).await
            }
            ChatCommand::Model(name) => commands::model(context, conversation, name).await,
            ChatCommand::Diff(range) => commands::diff(context, conversation, range).await,
            ChatCommand::Undo => commands::undo(context, conversation).await,
            ChatCommand::Task(text) => commands::task(self.app, context, conversation, &text).await,
            ChatCommand::New => {
                let agent = conversation.agent.clone();
                let new = ChatConversation::new(context, agent)?;
                std::mem::replace(conversation, new).close().await;
                context.console.progress(QUIET, "a new conversation");
                Ok(())
            }
            ChatCommand::List => {
                let records = context.store.list(&context.cwd);
                commands::list(context.console, &records, false).map(drop)
            }
            // The loop ends before it comes here.
            ChatCommand::Quit => Ok(()),
        }
    }

    /// Lets the user choose a conversation.
    pub(super) async fn pick(&mut self) -> Result<Option<ChatRecord>, CliError> {
        if self.modes.is_none() {
            return Err(CliError::usage(
                "choosing a conversation needs a terminal: pass --session ID or --last (windlass chat --list shows them)",
            ));
        }
        let mut records = self.context.store.list(&self.context.cwd);
        records.truncate(commands::MAX_LISTED);
        if records.is_empty() {
            return Err(commands::none_stored());
        }
        let console = self.context.console;
        for (number, [_, age, agent, title]) in commands::rows(&records).into_iter().enumerate() {
            let line = format!("{:>3}  {title}  ({agent}, {age})", number + 1);
            console.line(&escape_line(&line))?;
        }
        let prompt = format!("1-{} › ", records.len());
        loop {
            let entry = tokio::select! {
                entry = self.input.read(&prompt) => entry?,
                () = self.interrupts.next() => return Ok(None),
            };
            let ChatEntry::Line(line) = entry else {
                return Ok(None);
            };
            let number = line.trim().parse::<usize>().ok();
            let index = number.and_then(|number| number.checked_sub(1));
            if let Some(index) = index.filter(|index| *index < records.len()) {
                return Ok(Some(records.swap_remove(index)));
            }
            console.error(&format!("type a number from 1 to {}", records.len()));
        }
    }

    fn greet(&self, conversation: &ChatConversation) -> Result<(), CliError> {
        if self.output.is_some() {
            return Ok(());
        }
        let console = self.context.console;
        let ChatConversation { agent, record, .. } = conversation;
        let model = agent.model.as_ref().map(|model| format!(" ({model})"));
        let rights = match conversation.access() {
            DirAccess::ReadOnly => "it can change nothing",
            _ if conversation.asks() => "it asks before it changes files or runs commands",
            _ => "it may change files",
        };
        let name = format!("{}{}", agent.name, model.unwrap_or_default());
        let cwd = &self.context.cwd;
        let cwd = cwd.file_name().unwrap_or(cwd.as_os_str());
        let cwd = cwd.to_string_lossy();
        console.line(&format!(
            "{STRONG}{}{STRONG:#} in {}",
            escape_line(&name),
            escape_line(&cwd)
        ))?;
        for line in terminal::wrapped(&format!("{rights}; /help lists the commands")) {
            console.progress(QUIET, &line);
        }
        if let Some(turn) = record.turns.last() {
            let count = record.turns.len();
            console.progress(
                QUIET,
                &format!(
                    "conversation {} with {count} turns; the last one:",
                    record.id
                ),
            );
            let prompt = turn.prompt.lines().next().unwrap_or_default();
            console.line(&format!("{STRONG}› {}{STRONG:#}", escape_line(prompt)))?;
            let mut markdown = Markdown::new(terminal::width());
            let answer = windlass_core::escape_control(&turn.answer);
            console.styled(&markdown.push(&answer))?;
            console.styled(&markdown.finish())?;
        }
        Ok(())
    }

    fn say_goodbye(&self, conversation: &ChatConversation) -> Result<(), CliError> {
        let record = &conversation.record;
        if self.output.is_none_or(|output| output == OutputMode::Text) && !record.turns.is_empty() {
            let line = format!("resume with: windlass chat --session {}", record.id);
            self.context.console.progress(QUIET, &line);
        }
        Ok(())
    }
}

/// Returns the first names of a list.
fn brief_list(files: &[String]) -> String {
    const MAX_NAMES: usize = 3;
    let mut text = files[..files.len().min(MAX_NAMES)].join(", ");
    if files.len() > MAX_NAMES {
        text.push_str(", …");
    }
    text
}
