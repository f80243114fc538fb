//! Supervises one command: sends the request, enforces the time limits, and stops the command
//! gracefully, then forcefully.

use std::io;
use std::process::ExitStatus as InitStatus;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{self, ChildStderr};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use crate::child::{ChildControl, ExitReason, ExitStatus};
use crate::error::{Error, Result};
use crate::head_tail::HeadTailBuffer;
use crate::init_protocol::InitReport;
use crate::limits::ResourceLimits;
use crate::spec::ProcessLimits;

/// How long the init process may take to kill the tree once the lifeline is closed.
const KILL_TIMEOUT: Duration = Duration::from_secs(6);

/// Exit code that a shell reports for a command killed by SIGKILL.
const KILLED: i32 = 137;

/// The init process's report is one short sentence.
const MAX_REPORT_BYTES: usize = 64 << 10;

/// What a program that could not start the init process writes is short too.
const MAX_ERROR_BYTES: u64 = 64 << 10;
const ERROR_TIMEOUT: Duration = Duration::from_secs(1);

/// A supervised command. Dropping the supervisor closes the lifeline, which kills the tree.
pub(crate) struct Supervisor {
    pub(crate) program: String,
    pub(crate) init: process::Child,
    /// What the init process, and the program that starts it, write themselves.
    pub(crate) errors: ChildStderr,
    /// What the command has written to standard error.
    pub(crate) stderr: Arc<Mutex<HeadTailBuffer>>,
    pub(crate) lifeline: UnixStream,
    pub(crate) request: Vec<u8>,
    /// What was received of the report.
    pub(crate) report: Vec<u8>,
    pub(crate) limits: ProcessLimits,
    pub(crate) resources: ResourceLimits,
    pub(crate) control: ChildControl,
    /// Ends with the command.
    pub(crate) _proxy: Option<AbortOnDrop>,
}

/// How the tree ended.
enum TreeEnd {
    /// The init process reported it.
    Reported(InitReport),
    /// The init process has ended without a report.
    Unreported(InitStatus),
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
            Ok((reason, end)) => self.finish(reason, end, started).await,
            Err(error) => Err(error),
        };
        ended.map_err(|source| Error::Watch {
            program: self.program.clone(),
            source,
        })?
    }

    /// Waits until the command ends, a time limit expires or the caller stops it.
    async fn watch(&mut self, started: Instant) -> io::Result<(ExitReason, Option<TreeEnd>)> {
        let Self {
            init,
            lifeline,
            request,
            report,
            limits,
            control,
            ..
        } = self;
        let (mut reader, mut writer) = lifeline.split();
        let send_request = async {
            // If the init process is gone, waiting for it reports that better than this error.
            let _ = writer.write_all(request).await;
            std::future::pending::<()>().await;
        };
        let reason = tokio::select! {
            end = tree_end(init, &mut reader, report) => return Ok((ExitReason::Exited, Some(end?))),
            () = sleep_until(deadline_after(started, limits.deadline)) => ExitReason::Deadline,
            () = stalled(control.pulse.subscribe(), limits.stall) => ExitReason::Stalled,
            () = control.kill.notified() => {
                // The permit is returned, so that the graceful stop is skipped.
                control.kill.notify_one();
                ExitReason::Stopped
            }
            () = control.stop.notified() => ExitReason::Stopped,
            () = send_request => ExitReason::Exited,
        };
        Ok((reason, None))
    }

    async fn finish(
        &mut self,
        reason: ExitReason,
        end: Option<TreeEnd>,
        started: Instant,
    ) -> io::Result<Result<ExitStatus>> {
        let end = match end {
            Some(end) => end,
            None => self.stop(reason).await?,
        };
        let (code, reason) = match end {
            TreeEnd::Reported(InitReport::Failed(problem)) => {
                let program = self.program.clone();
                return Ok(Err(Error::Start { program, problem }));
            }
            TreeEnd::Reported(InitReport::Exceeded(resource)) => {
                let exceeded = self.resources.exceeded(resource);
                tracing::warn!(program = self.program, "{exceeded}");
                (KILLED, ExitReason::Limit(exceeded))
            }
            TreeEnd::Reported(InitReport::Ended(code)) => (code, reason),
            TreeEnd::Unreported(status) => {
                self.show_errors().await;
                (status.code().unwrap_or(KILLED), reason)
            }
        };
        Ok(Ok(ExitStatus {
            code,
            reason,
            duration: started.elapsed(),
        }))
    }

    /// Stops the tree: gracefully first, then by closing the lifeline.
    async fn stop(&mut self, reason: ExitReason) -> io::Result<TreeEnd> {
        if reason != ExitReason::Exited {
            tracing::debug!(program = self.program, ?reason, "stopping");
            // One byte requests a graceful stop. Sending it fails only if there is nothing left to
            // stop.
            let Self {
                init,
                lifeline,
                report,
                limits,
                control,
                ..
            } = &mut *self;
            let (mut reader, mut writer) = lifeline.split();
            let graceful = async {
                let _ = writer.write_all(b"t").await;
                let end = tree_end(init, &mut reader, report);
                timeout(limits.grace, end).await.ok()
            };
            let end = tokio::select! {
                biased;
                () = control.kill.notified() => None,
                end = graceful => end,
            };
            if let Some(end) = end {
                return end;
            }
        }
        let _ = self.lifeline.shutdown().await;
        let Self {
            init,
            lifeline,
            report,
            ..
        } = &mut *self;
        match timeout(KILL_TIMEOUT, tree_end(init, lifeline, report)).await {
            Ok(end) => end,
            Err(_) => {
                init.start_kill()?;
                tree_end(init, lifeline, report).await
            }
        }
    }

    /// Adds the reason why the init process ended without a report to the output of the command.
    async fn show_errors(&mut self) {
        let mut text = Vec::new();
        let errors = (&mut self.errors).take(MAX_ERROR_BYTES);
        let mut errors = std::pin::pin!(errors);
        // Nothing that could write more is left.
        let _ = timeout(ERROR_TIMEOUT, errors.read_to_end(&mut text)).await;
        self.stderr.lock().push(&text);
    }
}

/// Waits until nothing of the tree is left. That is cancel safe: `report` keeps what was received.
///
/// It does not wait for the init process, which reports this as the last thing it does: the kernel may then need
/// some milliseconds to take its namespaces apart.
async fn tree_end(
    init: &mut process::Child,
    lifeline: &mut (impl AsyncRead + Unpin),
    report: &mut Vec<u8>,
) -> io::Result<TreeEnd> {
    loop {
        if let Some(report) = InitReport::decode(report) {
            return Ok(TreeEnd::Reported(report));
        }
        if report.len() >= MAX_REPORT_BYTES || !matches!(lifeline.read_buf(report).await, Ok(1..)) {
            let status = init.wait().await?;
            return Ok(match InitReport::decode_at_end(report) {
                Some(report) => TreeEnd::Reported(report),
                None => TreeEnd::Unreported(status),
            });
        }
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
