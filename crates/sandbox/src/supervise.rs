//! Supervises one command: sends the request, enforces the time limits, and stops the command
//! gracefully, then forcefully.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use crate::child::{ChildControl, ExitReason, ExitStatus};
use crate::error::{Error, Result};
use crate::init_protocol::InitReport;
use crate::limits::ResourceLimits;
use crate::spec::ProcessLimits;

/// How long the init process may take to kill the tree once the lifeline is closed.
const KILL_TIMEOUT: Duration = Duration::from_secs(6);

/// Exit code that a shell reports for a command killed by SIGKILL.
const KILLED: i32 = 137;

/// The init process's report is one short sentence.
const MAX_REPORT_BYTES: u64 = 64 << 10;

/// A supervised command. Dropping the supervisor closes the lifeline, which kills the tree.
pub(crate) struct Supervisor {
    pub(crate) program: String,
    pub(crate) init: process::Child,
    pub(crate) lifeline: UnixStream,
    pub(crate) request: Vec<u8>,
    pub(crate) limits: ProcessLimits,
    pub(crate) resources: ResourceLimits,
    pub(crate) control: ChildControl,
    /// Ends with the command.
    pub(crate) _proxy: Option<AbortOnDrop>,
}

/// A task that is aborted when this is dropped.
pub(crate) struct AbortOnDrop(pub(crate) JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Supervisor {
    /// Runs from sending the request to the end of the tree.
    pub(crate) async fn run(mut self) -> Result<ExitStatus> {
        let started = Instant::now();
        self.control.reset_stall_timer();
        let ended = match self.watch(started).await {
            Ok(reason) => self.finish(reason, started).await,
            Err(error) => Err(error),
        };
        ended.map_err(|source| Error::Watch {
            program: self.program.clone(),
            source,
        })?
    }

    /// Waits until the command ends, a time limit expires or the caller stops it.
    async fn watch(&mut self, started: Instant) -> io::Result<ExitReason> {
        let Self {
            init,
            lifeline,
            request,
            limits,
            control,
            ..
        } = self;
        let send_request = async {
            // If the init process is gone, waiting for it reports that better than this error.
            let _ = lifeline.write_all(request).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            ended = init.wait() => ended.map(|_| ExitReason::Exited),
            () = sleep_until(deadline_after(started, limits.deadline)) => Ok(ExitReason::Deadline),
            () = stalled(control.pulse.subscribe(), limits.stall) => Ok(ExitReason::Stalled),
            () = control.kill.notified() => {
                // The permit is returned, so that the graceful stop is skipped.
                control.kill.notify_one();
                Ok(ExitReason::Stopped)
            }
            () = control.stop.notified() => Ok(ExitReason::Stopped),
            () = send_request => Ok(ExitReason::Exited),
        }
    }

    async fn finish(
        &mut self,
        reason: ExitReason,
        started: Instant,
    ) -> io::Result<Result<ExitStatus>> {
        if reason != ExitReason::Exited {
            tracing::debug!(program = self.program, ?reason, "stopping");
            // One byte requests a graceful stop. Sending it fails only if there is nothing left to
            // stop.
            let Self {
                init,
                lifeline,
                limits,
                control,
                ..
            } = &mut *self;
            let graceful = async {
                let _ = lifeline.write_all(b"t").await;
                let _ = timeout(limits.grace, init.wait()).await;
            };
            tokio::select! {
                biased;
                () = control.kill.notified() => {}
                () = graceful => {}
            }
        }
        let _ = self.lifeline.shutdown().await;
        if timeout(KILL_TIMEOUT, self.init.wait()).await.is_err() {
            self.init.start_kill()?;
        }
        let status = self.init.wait().await?;
        let (code, reason) = match self.read_report().await {
            Some(InitReport::Failed(problem)) => {
                let program = self.program.clone();
                return Ok(Err(Error::Start { program, problem }));
            }
            Some(InitReport::Exceeded(resource)) => {
                let exceeded = self.resources.exceeded(resource);
                tracing::warn!(program = self.program, "{exceeded}");
                (KILLED, ExitReason::Limit(exceeded))
            }
            Some(InitReport::Ended(code)) => (code, reason),
            None => (status.code().unwrap_or(KILLED), reason),
        };
        Ok(Ok(ExitStatus {
            code,
            reason,
            duration: started.elapsed(),
        }))
    }

    async fn read_report(&mut self) -> Option<InitReport> {
        let mut json = Vec::new();
        (&mut self.lifeline)
            .take(MAX_REPORT_BYTES)
            .read_to_end(&mut json)
            .await
            .ok()?;
        serde_json::from_slice(&json).ok()
    }
}

/// Completes when the timer was not reset for `limit`; never if there is no limit.
async fn stalled(pulse: watch::Receiver<Instant>, limit: Option<Duration>) {
    let Some(limit) = limit else {
        return std::future::pending().await;
    };
    loop {
        let due = deadline_after(*pulse.borrow(), limit);
        sleep_until(due).await;
        if deadline_after(*pulse.borrow(), limit) <= Instant::now() {
            return;
        }
    }
}

/// Returns the end of a wait, limited to the far future so that the addition cannot overflow.
fn deadline_after(start: Instant, wait: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    start + wait.min(FAR)
}
