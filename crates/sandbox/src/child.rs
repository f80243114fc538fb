//! A running command and the ways to talk to it, watch it and end it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::ChildStderr;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, timeout};

use crate::error::{Error, Result};
use crate::head_tail::{CappedOutput, HeadTailBuffer};
use crate::lines::BoundedLines;

/// How long to wait for the rest of the output once the tree has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitReason {
    /// By itself.
    Exited,
    /// It took longer than it was given.
    Deadline,
    /// No event came for too long.
    Stalled,
    /// Somebody asked for it.
    Stopped,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitStatus {
    /// The exit code; 128 + n if signal n ended it, as a shell would say.
    pub code: i32,
    /// Whose doing it was.
    pub why: ExitReason,
    /// The time from start to end.
    pub duration: Duration,
}

impl ExitStatus {
    /// Whether the command ended by itself with code 0.
    pub fn success(&self) -> bool {
        self.code == 0 && self.why == ExitReason::Exited
    }
}

/// A running command. Dropping it ends the whole tree of its processes.
#[derive(Debug)]
pub struct Child {
    /// Its standard input, if [`Stdin::Pipe`](crate::Stdin::Pipe) was asked for; drop it to end the
    /// input.
    pub stdin: Option<pipe::Sender>,
    /// Its standard output. Read it to the end before [`wait`](Self::wait): a full pipe stops the
    /// command.
    pub stdout: BoundedLines,
    pub(crate) program: String,
    pub(crate) control: ChildControl,
    pub(crate) stderr: Stderr,
    /// Until it has ended.
    pub(crate) supervisor: Option<JoinHandle<Result<ExitStatus>>>,
    pub(crate) exit: Option<ExitStatus>,
}

impl Child {
    /// Waits until the command and everything it started have ended.
    ///
    /// Dropping the future loses nothing. An error here means that the command was never run.
    pub async fn wait(&mut self) -> Result<ExitStatus> {
        let Some(supervisor) = &mut self.supervisor else {
            return self
                .exit
                .ok_or_else(|| self.watch_error(io::Error::other("it was never run")));
        };
        let ended = supervisor.await;
        self.drain_and_wait(ended).await
    }

    /// Reads everything and waits. Whoever still holds the output once the tree has ended is not
    /// waited for.
    pub(crate) async fn output(&mut self, limit: usize) -> Result<(CappedOutput, ExitStatus)> {
        let mut kept = HeadTailBuffer::new(limit);
        let Some(supervisor) = &mut self.supervisor else {
            return Err(self.watch_error(io::Error::other("it has ended already")));
        };
        let ended = tokio::select! {
            // Broken or at its end: either way there is nothing more to read.
            _ = self.stdout.drain(&mut kept) => supervisor.await,
            ended = &mut *supervisor => {
                let _ = timeout(DRAIN_TIMEOUT, self.stdout.drain(&mut kept)).await;
                ended
            }
        };
        let exit = self.drain_and_wait(ended).await?;
        Ok((kept.take(), exit))
    }

    async fn drain_and_wait(
        &mut self,
        ended: Result<Result<ExitStatus>, JoinError>,
    ) -> Result<ExitStatus> {
        self.supervisor = None;
        self.stderr.finish().await;
        let exit = ended.map_err(|error| self.watch_error(error.into()))??;
        self.exit = Some(exit);
        Ok(exit)
    }

    /// Standard error so far, within its limit.
    pub fn stderr(&self) -> CappedOutput {
        self.stderr.snapshot()
    }

    /// Asks the tree to end, and makes it end when the grace is over.
    pub fn stop(&self) {
        self.control.stop();
    }

    /// A handle for other tasks to stop the command or to say that it is alive.
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
        // With the supervisor goes our end of the lifeline, and with that the tree.
        if let Some(supervisor) = &self.supervisor {
            supervisor.abort();
        }
    }
}

/// Stops a command or keeps its stall clock from running out. It does not keep the command alive.
#[derive(Debug, Clone)]
pub struct ChildControl {
    pub(crate) stop: Arc<Notify>,
    pub(crate) pulse: Arc<watch::Sender<Instant>>,
}

impl ChildControl {
    pub(crate) fn new() -> Self {
        Self {
            stop: Arc::default(),
            pulse: Arc::new(watch::Sender::new(Instant::now())),
        }
    }

    /// Asks the tree to end, and makes it end when the grace is over.
    pub fn stop(&self) {
        self.stop.notify_one();
    }

    /// Sets the stall clock back: something happened that counts as progress. Mere bytes do not.
    pub fn reset_stall_timer(&self) {
        self.pulse.send_replace(Instant::now());
    }
}

/// Standard error, read as it comes so that it can never stop the command.
#[derive(Debug)]
pub(crate) struct Stderr {
    kept: Arc<Mutex<HeadTailBuffer>>,
    reader: JoinHandle<()>,
}

impl Stderr {
    pub(crate) fn collect(mut source: ChildStderr, limit: usize) -> Self {
        let kept = Arc::new(Mutex::new(HeadTailBuffer::new(limit)));
        let shared = Arc::clone(&kept);
        let reader = tokio::spawn(async move {
            let mut chunk = vec![0; 16 << 10];
            while let Ok(count @ 1..) = source.read(&mut chunk).await {
                shared
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(&chunk[..count]);
            }
        });
        Self { kept, reader }
    }

    async fn finish(&mut self) {
        // Late or broken, what has been read by then is what there is.
        let _ = timeout(DRAIN_TIMEOUT, &mut self.reader).await;
    }

    fn snapshot(&self) -> CappedOutput {
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .snapshot()
    }
}
