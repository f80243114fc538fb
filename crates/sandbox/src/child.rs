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
use crate::headtail::{HeadTail, Kept};
use crate::lines::Lines;

/// How long to wait for the rest of the output once the tree has ended.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
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
pub struct Exit {
    /// The exit code; 128 + n if signal n ended it, as a shell would say.
    pub code: i32,
    /// Whose doing it was.
    pub why: Why,
    /// The time from start to end.
    pub duration: Duration,
}

impl Exit {
    /// Whether the command ended by itself with code 0.
    pub fn success(&self) -> bool {
        self.code == 0 && self.why == Why::Exited
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
    pub stdout: Lines,
    pub(crate) program: String,
    pub(crate) control: Control,
    pub(crate) stderr: Stderr,
    /// Until it has ended.
    pub(crate) supervisor: Option<JoinHandle<Result<Exit>>>,
    pub(crate) exit: Option<Exit>,
}

impl Child {
    /// Waits until the command and everything it started have ended.
    ///
    /// Dropping the future loses nothing. An error here means that the command was never run.
    pub async fn wait(&mut self) -> Result<Exit> {
        let Some(supervisor) = &mut self.supervisor else {
            return self
                .exit
                .ok_or_else(|| self.lost(io::Error::other("it was never run")));
        };
        let ended = supervisor.await;
        self.settle(ended).await
    }

    /// Reads everything and waits. Whoever still holds the output once the tree has ended is not
    /// waited for.
    pub(crate) async fn output(&mut self, limit: usize) -> Result<(Kept, Exit)> {
        let mut kept = HeadTail::new(limit);
        let Some(supervisor) = &mut self.supervisor else {
            return Err(self.lost(io::Error::other("it has ended already")));
        };
        let ended = tokio::select! {
            // Broken or at its end: either way there is nothing more to read.
            _ = self.stdout.drain(&mut kept) => supervisor.await,
            ended = &mut *supervisor => {
                let _ = timeout(LAST_OUTPUT, self.stdout.drain(&mut kept)).await;
                ended
            }
        };
        let exit = self.settle(ended).await?;
        Ok((kept.take(), exit))
    }

    async fn settle(&mut self, ended: Result<Result<Exit>, JoinError>) -> Result<Exit> {
        self.supervisor = None;
        self.stderr.finish().await;
        let exit = ended.map_err(|error| self.lost(error.into()))??;
        self.exit = Some(exit);
        Ok(exit)
    }

    /// Standard error so far, within its limit.
    pub fn stderr(&self) -> Kept {
        self.stderr.so_far()
    }

    /// Asks the tree to end, and makes it end when the grace is over.
    pub fn stop(&self) {
        self.control.stop();
    }

    /// A handle for other tasks to stop the command or to say that it is alive.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    fn lost(&self, source: io::Error) -> Error {
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
pub struct Control {
    pub(crate) stop: Arc<Notify>,
    pub(crate) pulse: Arc<watch::Sender<Instant>>,
}

impl Control {
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
    pub fn pulse(&self) {
        self.pulse.send_replace(Instant::now());
    }
}

/// Standard error, read as it comes so that it can never stop the command.
#[derive(Debug)]
pub(crate) struct Stderr {
    kept: Arc<Mutex<HeadTail>>,
    reader: JoinHandle<()>,
}

impl Stderr {
    pub(crate) fn collect(mut source: ChildStderr, limit: usize) -> Self {
        let kept = Arc::new(Mutex::new(HeadTail::new(limit)));
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
        let _ = timeout(LAST_OUTPUT, &mut self.reader).await;
    }

    fn so_far(&self) -> Kept {
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .snapshot()
    }
}
