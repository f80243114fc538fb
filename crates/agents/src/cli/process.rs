//! A running agent and whoever understands it.

use std::time::Duration;

use tempfile::TempPath;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use windlass_core::{Aftermath, AgentEvent, Error, ErrorCode, Result};
use windlass_sandbox::{Child, Exit, Stdin, Why};

use super::call::Call;
use super::driver::Driver;
use super::failure;
use super::launch::Launch;
use super::parser::{Dialog, Ended, Heard, Parser, Question};
use super::profile::Door;
use super::program::{Found, not_started};

/// How many lines may wait for an agent that does not read.
const UNREAD_LINES: usize = 64;
/// How long a process may take to end when its work is done: it has a session to save.
const LINGER: Duration = Duration::from_secs(5);

/// One process of an agent. Dropping it ends the whole tree.
pub(super) struct Process {
    pub(super) child: Child,
    /// What it was handed; removed when it has ended.
    pub(super) papers: Vec<TempPath>,
    voice: Voice,
}

enum Voice {
    Once(Box<dyn Parser>),
    Dialog(Box<dyn Dialog>, Input),
}

impl Process {
    /// Starts the agent. One that answers once gets the prompt now.
    pub(super) fn start(
        driver: &Driver,
        found: &Found,
        call: &Call<'_>,
        prompt: &str,
    ) -> Result<Self> {
        let stdin = match found.transport.door {
            Door::Once(_) => Stdin::Bytes(prompt.as_bytes().to_vec()),
            _ => Stdin::Pipe,
        };
        let profile = driver.profile;
        let launch = Launch {
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
        let voice = match found.transport.door {
            Door::Once(parser) => Voice::Once(parser(call)),
            Door::Dialog(dialog) => {
                let pipe = child.stdin.take();
                let pipe = pipe.ok_or_else(|| {
                    Error::agent(
                        ErrorCode::BackendError,
                        "there is no way to write to the agent",
                    )
                })?;
                let mut dialog = dialog(call);
                let input = Input::over(pipe);
                input.send_all(dialog.open());
                Voice::Dialog(dialog, input)
            }
            Door::Plain => {
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
    pub(super) fn ask(&mut self, question: Question) {
        if let Voice::Dialog(dialog, input) = &mut self.voice {
            input.send_all(dialog.ask(question));
        }
    }

    /// Understands a line, and answers what has to be answered.
    pub(super) fn hear(&mut self, line: &str) -> Heard {
        match &mut self.voice {
            Voice::Once(parser) => parser.line(line),
            Voice::Dialog(dialog, input) => {
                let mut heard = dialog.line(line);
                input.send_all(std::mem::take(&mut heard.replies));
                heard
            }
        }
    }

    /// Has the turn end: by asking, where the agent can be asked, else by ending the tree.
    pub(super) fn interrupt(&mut self) {
        match &mut self.voice {
            Voice::Once(_) => self.child.stop(),
            Voice::Dialog(dialog, input) => input.send_all(dialog.interrupt()),
        }
    }

    /// Passes on what somebody chose in answer to a question.
    pub(super) fn answer(&mut self, id: &str, option: Option<&str>) {
        if let Voice::Dialog(dialog, input) = &mut self.voice {
            input.send_all(dialog.answer(id, option));
        }
    }

    /// Waits for the process, whose output has ended, and says what its end means, and what it left behind.
    pub(super) async fn last_words(mut self, driver: &Driver) -> (AgentEvent, Aftermath) {
        let exit = match self.child.wait().await {
            Ok(exit) => exit,
            Err(error) => {
                let error = not_started(driver.profile.name, driver.profile.install, &error);
                return (error.into(), Aftermath::default());
            }
        };
        let end = match exit.why {
            Why::Stopped => Error::Cancelled.into(),
            Why::Deadline | Why::Stalled => AgentEvent::from(Error::Timeout {
                what: driver.profile.name.to_owned(),
                after: exit.duration,
            }),
            _ => {
                let stderr = self.child.stderr().text();
                let ended = Ended {
                    code: exit.code,
                    stderr: &stderr,
                };
                match &mut self.voice {
                    Voice::Once(parser) => parser.end(&ended),
                    Voice::Dialog(dialog, _) => dialog.end(&ended),
                }
            }
        };
        (end, self.left(Some(exit)))
    }

    /// What is known of a process besides what it said.
    pub(super) fn left(&self, exit: Option<Exit>) -> Aftermath {
        left(&self.child, exit)
    }

    /// Whether the process can take another turn.
    pub(super) fn is_dialog(&self) -> bool {
        matches!(self.voice, Voice::Dialog(..))
    }

    /// Lets the process end by itself, within limits: what it still has to say is read and not heard.
    pub(super) async fn close(self) -> Aftermath {
        let Self {
            mut child, voice, ..
        } = self;
        drop(voice);
        let ended = async {
            while let Ok(Some(_)) = child.stdout.next().await {}
            child.wait().await.ok()
        };
        let exit = tokio::time::timeout(LINGER, ended).await;
        left(&child, exit.ok().flatten())
    }
}

fn left(child: &Child, exit: Option<Exit>) -> Aftermath {
    Aftermath {
        exit_code: exit.map(|exit| exit.code),
        stderr: Some(failure::quiet(&child.stderr().text())).filter(|said| !said.is_empty()),
        ..Aftermath::default()
    }
}

/// The way in: a task that writes, so that an agent which does not read cannot make us wait.
struct Input {
    lines: mpsc::Sender<String>,
}

impl Input {
    fn over(mut pipe: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (lines, mut waiting) = mpsc::channel::<String>(UNREAD_LINES);
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
