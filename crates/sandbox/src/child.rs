//! A running command: its input and output, its exit status, and the means to stop it.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, timeout};

use crate::error::{Error, Result};
use crate::head_tail::{CappedOutput, HeadTailBuffer};
use crate::limits::ExceededLimit;
use crate::lines::BoundedLines;
use crate::network::{BlockedConnection, BlockedLog};

/// How long to wait for the rest of the output once the process tree has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// How the programs that set up a sandbox begin the reason why they could not.
const SETUP_FAILURES: [&str; 2] = ["bwrap: ", "unshare: "];

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ExitReason {
    /// The command exited.
    Exited,
    /// The command exceeded its deadline.
    Deadline,
    /// The stall timer was not reset within its limit.
    Stalled,
    /// The caller stopped the command.
    Stopped,
    /// The command and the processes it started exceeded a limit.
    Limit(ExceededLimit),
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExitStatus {
    /// The exit code; 128 + n if signal n ended the command, as in a shell.
    pub code: i32,
    /// Why it ended.
    pub reason: ExitReason,
    /// The time from start to end.
    pub duration: Duration,
}

impl ExitStatus {
    /// Returns `true` if the command exited on its own with code 0.
    pub fn success(&self) -> bool {
        self.code == 0 && self.reason == ExitReason::Exited
    }
}

/// The output and exit status of a command.
#[derive(Debug, Clone)]
pub struct Output {
    /// Standard output, within its limit.
    pub stdout: CappedOutput,
    /// Standard error, within its limit.
    pub stderr: CappedOutput,
    /// The exit status.
    pub exit: ExitStatus,
    /// Connections that the command tried to hosts that it may not reach.
    pub blocked: Vec<BlockedConnection>,
}

/// A running command. Dropping it kills its whole process tree.
#[derive(Debug)]
pub struct Child {
    /// Standard input, if [`Stdin::Pipe`](crate::Stdin::Pipe) was requested. Drop it to close the
    /// input.
    pub stdin: Option<pipe::Sender>,
    /// Standard output. Read it to the end before calling [`wait`](Self::wait): a full pipe blocks
    /// the command.
    pub stdout: BoundedLines,
    pub(crate) program: String,
    /// The limit of [`output`](Self::output).
    pub(crate) output_bytes: usize,
    pub(crate) control: ChildControl,
    pub(crate) stderr: Stderr,
    /// `None` once the command has ended.
    pub(crate) supervisor: Option<JoinHandle<Result<ExitStatus>>>,
    pub(crate) exit: Option<ExitStatus>,
    pub(crate) blocked: Arc<BlockedLog>,
    /// What to check if the command may not have started.
    pub(crate) start_check: Option<Arc<dyn StartCheck>>,
}

/// Finds out whether the sandbox works, once a command may not have started in it.
pub(crate) trait StartCheck: fmt::Debug + Send + Sync {
    /// Returns an error if commands do not start. The future is in a box because it runs a command itself.
    fn check(self: Arc<Self>) -> Pin<Box<dyn Future<Output = Result<()>> + Send>>;
}

impl Child {
    /// Waits until the command and every process it started have ended.
    ///
    /// The method is cancel safe. An error means that the command never ran.
    pub async fn wait(&mut self) -> Result<ExitStatus> {
        let Some(supervisor) = &mut self.supervisor else {
            return self
                .exit
                .ok_or_else(|| self.watch_error(io::Error::other("it was never run")));
        };
        let ended = supervisor.await;
        self.drain_and_wait(ended).await
    }

    /// Reads all output, within the limit, and waits. Once the tree has ended, the method does not wait
    /// for other processes that still hold the output open.
    pub async fn output(&mut self) -> Result<Output> {
        let mut output = HeadTailBuffer::new(self.output_bytes);
        let Some(supervisor) = &mut self.supervisor else {
            return Err(self.watch_error(io::Error::other("it has ended already")));
        };
        let ended = tokio::select! {
            // On an error or at the end of the output there is nothing more to read.
            _ = self.stdout.drain(&mut output) => supervisor.await,
            ended = &mut *supervisor => {
                let _ = timeout(DRAIN_TIMEOUT, self.stdout.drain(&mut output)).await;
                ended
            }
        };
        let exit = self.drain_and_wait(ended).await?;
        Ok(Output {
            stdout: output.take(),
            stderr: self.stderr(),
            exit,
            blocked: self.take_blocked(),
        })
    }

    async fn drain_and_wait(
        &mut self,
        ended: Result<Result<ExitStatus>, JoinError>,
    ) -> Result<ExitStatus> {
        self.supervisor = None;
        self.stderr.finish().await;
        let ended = ended.map_err(|error| self.watch_error(error.into()))?;
        self.exit = ended.as_ref().ok().copied();
        let may_be_broken = match &ended {
            Ok(exit) => exit.code == 1 && self.has_setup_failure(),
            Err(error) => matches!(error, Error::Start { .. }),
        };
        if may_be_broken && let Some(start_check) = self.start_check.take() {
            start_check.check().await?;
        }
        ended
    }

    /// Returns `true` if the output looks as if the sandbox could not be set up. A command can write that too: then
    /// the check is in vain.
    fn has_setup_failure(&self) -> bool {
        let stderr = self.stderr().text();
        SETUP_FAILURES.iter().any(|start| stderr.starts_with(start))
    }

    /// Returns what the command has written to standard error so far, within the limit.
    pub fn stderr(&self) -> CappedOutput {
        self.stderr.snapshot()
    }

    /// Returns the connections that were blocked since the last call. At most 100 different ones are
    /// reported.
    pub fn take_blocked(&self) -> Vec<BlockedConnection> {
        self.blocked.take()
    }

    /// Returns the problems of the network since the last call, each once: the process has no network, or too many
    /// connections.
    pub fn take_network_problems(&self) -> Vec<&'static str> {
        self.blocked.take_problems()
    }

    /// Asks the process tree to exit, and kills it after the grace period.
    pub fn stop(&self) {
        self.control.stop();
    }

    /// Returns a handle with which other tasks can stop the command or reset its stall timer.
    pub fn control(&self) -> ChildControl {
        self.control.clone()
    }

    fn watch_error(&self, source: io::Error) -> Error {
        Error::Watch {
            program: self.program.clone(),
            source,
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // The supervisor kills the tree and runs until the tree is gone.
        self.control.kill.notify_one();
    }
}

/// Stops a command, waits for its end, or resets its stall timer. It does not keep the command alive.
#[derive(Debug, Clone)]
pub struct ChildControl {
    pub(crate) stop: Arc<Notify>,
    pub(crate) kill: Arc<Notify>,
    pub(crate) pulse: Arc<watch::Sender<Instant>>,
    /// Its sender is dropped by the supervisor when the tree is gone.
    ended: watch::Receiver<()>,
}

impl ChildControl {
    /// Creates a control, and the sender that the supervisor drops when the tree is gone.
    pub(crate) fn new() -> (Self, watch::Sender<()>) {
        let (sender, ended) = watch::channel(());
        let control = Self {
            stop: Arc::default(),
            kill: Arc::default(),
            pulse: Arc::new(watch::Sender::new(Instant::now())),
            ended,
        };
        (control, sender)
    }

    /// Asks the process tree to exit, and kills it after the grace period.
    pub fn stop(&self) {
        self.stop.notify_one();
    }

    /// Waits until the command and every process it started have ended.
    pub async fn ended(&self) {
        let mut ended = self.ended.clone();
        while ended.changed().await.is_ok() {}
    }

    /// Returns `true` if the command and every process it started have ended.
    pub fn has_ended(&self) -> bool {
        self.ended.has_changed().is_err()
    }

    /// Resets the stall timer. Call it when the command made progress; output alone is not
    /// progress.
    pub fn reset_stall_timer(&self) {
        self.pulse.send_replace(Instant::now());
    }
}

/// Standard error, read continuously so that a full pipe never blocks the command.
#[derive(Debug)]
pub(crate) struct Stderr {
    buffer: Arc<Mutex<HeadTailBuffer>>,
    reader: JoinHandle<()>,
}

impl Stderr {
    pub(crate) fn collect(mut source: pipe::Receiver, limit: usize) -> Self {
        let buffer = Arc::new(Mutex::new(HeadTailBuffer::new(limit)));
        let shared = Arc::clone(&buffer);
        let reader = tokio::spawn(async move {
            let mut chunk = vec![0; 16 << 10];
            while let Ok(count @ 1..) = source.read(&mut chunk).await {
                shared.lock().push(&chunk[..count]);
            }
        });
        Self { buffer, reader }
    }

    /// Returns where the output is kept.
    pub(crate) fn buffer(&self) -> Arc<Mutex<HeadTailBuffer>> {
        Arc::clone(&self.buffer)
    }

    async fn finish(&mut self) {
        // After the timeout or an error, only the output read so far is available.
        let _ = timeout(DRAIN_TIMEOUT, &mut self.reader).await;
    }

    fn snapshot(&self) -> CappedOutput {
        self.buffer.lock().snapshot()
    }
}
