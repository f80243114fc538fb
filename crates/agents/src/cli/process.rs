//! A running agent process and its parser.

use std::time::Duration;

use futures::future::BoxFuture;
use tempfile::TempPath;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use windlass_core::{AgentEvent, Error, ErrorCode, Result, TurnDiagnostics};
use windlass_sandbox::{Child, ExitReason, ExitStatus};

use super::parser::{InteractiveParser, Parsed, Parser, TurnRequest};
use super::profile::IoMode;
use super::run_context::RunContext;
use crate::program::find::not_started;
use crate::program::pool::Pooled;
use crate::program::{AgentProgram, ProcessEnd, failure};

/// Maximum number of lines queued for an agent that does not read its standard input.
const STDIN_QUEUE: usize = 64;
/// Time that a process has to exit after its last turn: it may have to save a session.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// One agent process. Dropping it kills the process tree.
pub(super) struct AgentProcess {
    pub(super) child: Child,
    program: &'static AgentProgram,
    /// Files that were passed to it; they are deleted when this is dropped.
    pub(super) temp_files: Vec<TempPath>,
    mode: ParserMode,
}

enum ParserMode {
    OneShot(Box<dyn Parser>),
    Interactive(Box<dyn InteractiveParser>, StdinWriter),
}

impl AgentProcess {
    /// Drives a process that was just started. A one-shot agent has its prompt already.
    pub(super) fn new(
        mut child: Child,
        program: &'static AgentProgram,
        io: IoMode,
        run: &RunContext<'_>,
    ) -> Result<Self> {
        let mode = match io {
            IoMode::OneShot(parser) => ParserMode::OneShot(parser(run)),
            IoMode::Interactive(parser) => {
                let pipe = child.stdin.take();
                let pipe = pipe.ok_or_else(|| {
                    Error::agent(ErrorCode::BackendError, "the agent has no standard input")
                })?;
                let mut parser = parser(run);
                let input = StdinWriter::spawn(pipe);
                input.send_all(parser.on_start());
                ParserMode::Interactive(parser, input)
            }
            IoMode::PlainText => {
                // Turns of this mode do not use an `AgentProcess`.
                return Err(Error::unsupported(program.name, "run interactively"));
            }
        };
        Ok(Self {
            child,
            program,
            temp_files: Vec::new(),
            mode,
        })
    }

    /// Starts a turn of an interactive agent; a one-shot agent got its prompt at start.
    pub(super) fn start_turn(&mut self, request: TurnRequest) {
        if let ParserMode::Interactive(parser, input) = &mut self.mode {
            input.send_all(parser.start_turn(request));
        }
    }

    /// Parses a line, and writes the replies that it requires.
    pub(super) fn handle_line(&mut self, line: &str) -> Parsed {
        match &mut self.mode {
            ParserMode::OneShot(parser) => parser.parse_line(line),
            ParserMode::Interactive(parser, input) => {
                let mut parsed = parser.parse_line(line);
                input.send_all(std::mem::take(&mut parsed.replies));
                parsed
            }
        }
    }

    /// Ends the turn: by a request, if the agent accepts one, otherwise by killing the process tree.
    pub(super) fn interrupt(&mut self) {
        match &mut self.mode {
            ParserMode::OneShot(_) => self.child.stop(),
            ParserMode::Interactive(parser, input) => input.send_all(parser.interrupt()),
        }
    }

    /// Passes the answer to a permission request to the agent.
    pub(super) fn answer_permission(&mut self, id: &str, option: Option<&str>) {
        if let ParserMode::Interactive(parser, input) = &mut self.mode {
            input.send_all(parser.answer_permission(id, option));
        }
    }

    /// Waits for the process after its output has ended. Returns the terminal event that its exit means, and
    /// the diagnostics.
    pub(super) async fn wait_exit(mut self) -> (AgentEvent, TurnDiagnostics) {
        let exit = match self.child.wait().await {
            Ok(exit) => exit,
            Err(error) => {
                let error = not_started(self.program, &error);
                return (error.into(), TurnDiagnostics::default());
            }
        };
        let end = match exit.reason {
            ExitReason::Stopped => Error::Cancelled.into(),
            ExitReason::Limit(exceeded) => failure::limit_error(self.program.name, exceeded),
            ExitReason::Deadline | ExitReason::Stalled => AgentEvent::from(Error::Timeout {
                what: self.program.name.to_owned(),
                after: exit.duration,
            }),
            _ => {
                let stderr = self.child.stderr().text();
                let ended = ProcessEnd {
                    code: exit.code,
                    stderr: &stderr,
                };
                match &mut self.mode {
                    ParserMode::OneShot(parser) => parser.finish(&ended),
                    ParserMode::Interactive(parser, _) => parser.finish(&ended),
                }
            }
        };
        (end, self.diagnostics(Some(exit)))
    }

    /// Returns the diagnostics of the process.
    pub(super) fn diagnostics(&self, exit: Option<ExitStatus>) -> TurnDiagnostics {
        child_diagnostics(&self.child, exit)
    }

    /// Returns `true` if the process can run another turn.
    pub(super) fn is_interactive(&self) -> bool {
        matches!(self.mode, ParserMode::Interactive(..))
    }

    /// Lets the process exit on its own, within a time limit. Remaining output is read and discarded.
    pub(super) async fn finish(self) -> TurnDiagnostics {
        let Self {
            mut child, mode, ..
        } = self;
        drop(mode);
        let ended = async {
            while let Ok(Some(_)) = child.stdout.next().await {}
            child.wait().await.ok()
        };
        let exit = tokio::time::timeout(EXIT_TIMEOUT, ended).await;
        child_diagnostics(&child, exit.ok().flatten())
    }
}

impl Pooled for AgentProcess {
    /// A process that died while it was idle is noticed by its next turn.
    fn is_live(&self) -> bool {
        true
    }

    /// A turn takes its process out of the pool.
    fn is_busy(&self) -> bool {
        false
    }

    fn expires(&self) -> bool {
        true
    }

    fn close(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let _ = self.finish().await;
        })
    }
}

fn child_diagnostics(child: &Child, exit: Option<ExitStatus>) -> TurnDiagnostics {
    TurnDiagnostics {
        exit_code: exit.map(|exit| exit.code),
        stderr: Some(failure::relevant_stderr(&child.stderr().text()))
            .filter(|stderr| !stderr.is_empty()),
        ..TurnDiagnostics::default()
    }
}

/// A task that writes to standard input, so that an agent that does not read cannot block the turn.
struct StdinWriter {
    lines: mpsc::Sender<String>,
}

impl StdinWriter {
    fn spawn(mut pipe: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (lines, mut queue) = mpsc::channel::<String>(STDIN_QUEUE);
        tokio::spawn(async move {
            while let Some(mut line) = queue.recv().await {
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
                // The process has ended or does not read. In both cases the turn notices by its own timeouts.
                tracing::debug!("an agent does not read its standard input");
            }
        }
    }
}
