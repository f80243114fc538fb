//! A running agent and whoever understands it.

use std::time::Duration;

use tempfile::TempPath;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use windlass_core::{AgentEvent, Error, ErrorCode, Result, TurnDiagnostics};
use windlass_sandbox::{Child, ExitReason, ExitStatus, Stdin};

use super::driver::CliDriver;
use super::failure;
use super::launch::CliLaunch;
use super::parser::{InteractiveParser, Parsed, Parser, ProcessEnd, TurnRequest};
use super::profile::IoMode;
use super::program::{CliInstallation, not_started};
use super::run_context::RunContext;

/// How many lines may wait for an agent that does not read.
const STDIN_QUEUE: usize = 64;
/// How long a process may take to end when its work is done: it has a session to save.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// One process of an agent. Dropping it ends the whole tree.
pub(super) struct AgentProcess {
    pub(super) child: Child,
    /// What it was handed; removed when it has ended.
    pub(super) papers: Vec<TempPath>,
    voice: ParserMode,
}

enum ParserMode {
    OneShot(Box<dyn Parser>),
    Interactive(Box<dyn InteractiveParser>, StdinWriter),
}

impl AgentProcess {
    /// Starts the agent. One that answers once gets the prompt now.
    pub(super) fn start(
        driver: &CliDriver,
        found: &CliInstallation,
        call: &RunContext<'_>,
        prompt: &str,
    ) -> Result<Self> {
        let stdin = match found.transport.io {
            IoMode::OneShot(_) => Stdin::Bytes(prompt.as_bytes().to_vec()),
            _ => Stdin::Pipe,
        };
        let profile = driver.profile;
        let launch = CliLaunch {
            profile,
            program: &found.program,
            context: &driver.context,
            settings: &driver.settings,
            cwd: call.cwd,
            command: (found.transport.command)(call),
            stdin,
            files: [call.schema_file, call.servers_file]
                .into_iter()
                .flatten()
                .collect(),
            programs: call
                .mcp_servers
                .iter()
                .map(|server| server.command.as_str())
                .collect(),
        };
        let (spec, _) = launch.spec()?;
        let spawned = driver.context.sandbox().spawn(spec);
        let mut child =
            spawned.map_err(|error| not_started(profile.name, profile.install, &error))?;
        let voice = match found.transport.io {
            IoMode::OneShot(parser) => ParserMode::OneShot(parser(call)),
            IoMode::Interactive(dialog) => {
                let pipe = child.stdin.take();
                let pipe = pipe.ok_or_else(|| {
                    Error::agent(
                        ErrorCode::BackendError,
                        "there is no way to write to the agent",
                    )
                })?;
                let mut dialog = dialog(call);
                let input = StdinWriter::spawn(pipe);
                input.send_all(dialog.on_start());
                ParserMode::Interactive(dialog, input)
            }
            IoMode::PlainText => {
                // Its turns have no process that anyone talks with.
                return Err(Error::Unsupported {
                    backend: profile.name.to_owned(),
                    what: "be talked with".to_owned(),
                });
            }
        };
        Ok(Self {
            child,
            papers: Vec::new(),
            voice,
        })
    }

    /// Begins a turn of a dialog; an agent that answers once has been asked already.
    pub(super) fn start_turn(&mut self, question: TurnRequest) {
        if let ParserMode::Interactive(dialog, input) = &mut self.voice {
            input.send_all(dialog.start_turn(question));
        }
    }

    /// Understands a line, and answers what has to be answered.
    pub(super) fn handle_line(&mut self, line: &str) -> Parsed {
        match &mut self.voice {
            ParserMode::OneShot(parser) => parser.parse_line(line),
            ParserMode::Interactive(dialog, input) => {
                let mut heard = dialog.parse_line(line);
                input.send_all(std::mem::take(&mut heard.replies));
                heard
            }
        }
    }

    /// Has the turn end: by asking, where the agent can be asked, else by ending the tree.
    pub(super) fn interrupt(&mut self) {
        match &mut self.voice {
            ParserMode::OneShot(_) => self.child.stop(),
            ParserMode::Interactive(dialog, input) => input.send_all(dialog.interrupt()),
        }
    }

    /// Passes on what somebody chose in answer to a question.
    pub(super) fn answer_permission(&mut self, id: &str, option: Option<&str>) {
        if let ParserMode::Interactive(dialog, input) = &mut self.voice {
            input.send_all(dialog.answer_permission(id, option));
        }
    }

    /// Waits for the process, whose output has ended, and says what its end means, and what it left behind.
    pub(super) async fn wait_exit(mut self, driver: &CliDriver) -> (AgentEvent, TurnDiagnostics) {
        let exit = match self.child.wait().await {
            Ok(exit) => exit,
            Err(error) => {
                let error = not_started(driver.profile.name, driver.profile.install, &error);
                return (error.into(), TurnDiagnostics::default());
            }
        };
        let end = match exit.why {
            ExitReason::Stopped => Error::Cancelled.into(),
            ExitReason::Deadline | ExitReason::Stalled => AgentEvent::from(Error::Timeout {
                what: driver.profile.name.to_owned(),
                after: exit.duration,
            }),
            _ => {
                let stderr = self.child.stderr().text();
                let ended = ProcessEnd {
                    code: exit.code,
                    stderr: &stderr,
                };
                match &mut self.voice {
                    ParserMode::OneShot(parser) => parser.finish(&ended),
                    ParserMode::Interactive(dialog, _) => dialog.finish(&ended),
                }
            }
        };
        (end, self.diagnostics(Some(exit)))
    }

    /// What is known of a process besides what it said.
    pub(super) fn diagnostics(&self, exit: Option<ExitStatus>) -> TurnDiagnostics {
        left(&self.child, exit)
    }

    /// Whether the process can take another turn.
    pub(super) fn is_interactive(&self) -> bool {
        matches!(self.voice, ParserMode::Interactive(..))
    }

    /// Lets the process end by itself, within limits: what it still has to say is read and not heard.
    pub(super) async fn close(self) -> TurnDiagnostics {
        let Self {
            mut child, voice, ..
        } = self;
        drop(voice);
        let ended = async {
            while let Ok(Some(_)) = child.stdout.next().await {}
            child.wait().await.ok()
        };
        let exit = tokio::time::timeout(EXIT_TIMEOUT, ended).await;
        left(&child, exit.ok().flatten())
    }
}

fn left(child: &Child, exit: Option<ExitStatus>) -> TurnDiagnostics {
    TurnDiagnostics {
        exit_code: exit.map(|exit| exit.code),
        stderr: Some(failure::relevant_stderr(&child.stderr().text()))
            .filter(|said| !said.is_empty()),
        ..TurnDiagnostics::default()
    }
}

/// The way in: a task that writes, so that an agent which does not read cannot make us wait.
struct StdinWriter {
    lines: mpsc::Sender<String>,
}

impl StdinWriter {
    fn spawn(mut pipe: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (lines, mut waiting) = mpsc::channel::<String>(STDIN_QUEUE);
        tokio::spawn(async move {
            while let Some(mut line) = waiting.recv().await {
                line.push('\n');
                if pipe.write_all(line.as_bytes()).await.is_err() {
                    break;
                }
            }
        });
        Self { lines }
    }

    fn send_all(&self, lines: Vec<String>) {
        for line in lines {
            if self.lines.try_send(line).is_err() {
                // It has ended, or reads nothing: either way the turn finds out by its own clocks.
                tracing::debug!("an agent does not read what it is told");
            }
        }
    }
}
