//! Holds the lifeline of one command: gives the orders, watches the clocks, stops gently and then
//! firmly.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use crate::child::{Control, Exit, Why};
use crate::error::{Error, Result};
use crate::orders::Report;
use crate::spec::Limits;

/// How long the init program may take to end the tree once the lifeline is cut.
const FIRM_STOP: Duration = Duration::from_secs(6);

/// The init program's last words are one short sentence.
const REPORT_BYTES: u64 = 64 << 10;

/// One command under supervision. Dropping it cuts the lifeline.
pub(crate) struct Supervisor {
    pub(crate) program: String,
    pub(crate) init: process::Child,
    pub(crate) lifeline: UnixStream,
    pub(crate) orders: Vec<u8>,
    pub(crate) limits: Limits,
    pub(crate) control: Control,
}

impl Supervisor {
    /// From the orders to the end of the tree.
    pub(crate) async fn run(mut self) -> Result<Exit> {
        let started = Instant::now();
        self.control.pulse();
        let ended = match self.watch(started).await {
            Ok(why) => self.finish(why, started).await,
            Err(error) => Err(error),
        };
        ended.map_err(|source| Error::Watch {
            program: self.program.clone(),
            source,
        })?
    }

    /// Until the command ends or somebody has had enough of it.
    async fn watch(&mut self, started: Instant) -> io::Result<Why> {
        let Self {
            init,
            lifeline,
            orders,
            limits,
            control,
            ..
        } = self;
        let give_orders = async {
            // If the init program has gone, waiting for it says so better than this does.
            let _ = lifeline.write_all(orders).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            ended = init.wait() => ended.map(|_| Why::Exited),
            () = sleep_until(later(started, limits.deadline)) => Ok(Why::Deadline),
            () = stalled(control.pulse.subscribe(), limits.stall) => Ok(Why::Stalled),
            () = control.stop.notified() => Ok(Why::Stopped),
            () = give_orders => Ok(Why::Exited),
        }
    }

    async fn finish(&mut self, why: Why, started: Instant) -> io::Result<Result<Exit>> {
        if why != Why::Exited {
            tracing::debug!(program = self.program, ?why, "stopping");
            // One byte asks for a gentle stop; it fails only if there is nobody left to stop.
            let _ = self.lifeline.write_all(b"t").await;
            let _ = timeout(self.limits.grace, self.init.wait()).await;
        }
        let _ = self.lifeline.shutdown().await;
        if timeout(FIRM_STOP, self.init.wait()).await.is_err() {
            self.init.start_kill()?;
        }
        let status = self.init.wait().await?;
        let code = match self.last_words().await {
            Some(Report::Failed(problem)) => {
                let program = self.program.clone();
                return Ok(Err(Error::Start { program, problem }));
            }
            Some(Report::Ended(code)) => code,
            None => status.code().unwrap_or(137),
        };
        Ok(Ok(Exit {
            code,
            why,
            duration: started.elapsed(),
        }))
    }

    async fn last_words(&mut self) -> Option<Report> {
        let mut words = Vec::new();
        (&mut self.lifeline)
            .take(REPORT_BYTES)
            .read_to_end(&mut words)
            .await
            .ok()?;
        serde_json::from_slice(&words).ok()
    }
}

/// Ends when no pulse has come for `limit`; never, if there is no limit.
async fn stalled(pulse: watch::Receiver<Instant>, limit: Option<Duration>) {
    let Some(limit) = limit else {
        return std::future::pending().await;
    };
    loop {
        let due = later(*pulse.borrow(), limit);
        sleep_until(due).await;
        if later(*pulse.borrow(), limit) <= Instant::now() {
            return;
        }
    }
}

/// The end of a wait; one too long to be reckoned with ends in the far future.
fn later(start: Instant, wait: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    start + wait.min(FAR)
}
