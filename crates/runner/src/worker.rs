//! Claims tasks from the store and runs several of them concurrently.
//!
//! The worker is a single future: the claims, the reclaims and all attempts. Dropping it has the same effect
//! as a crash of the worker.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio_util::sync::CancellationToken;
use windlass_tasks::{NewWorker, ProjectId, StoreError, TaskId, WorkerKind};

use crate::attempt;
use crate::pool::PoolPermit;
use crate::registration::Registration;
use crate::worker_report::WorkerReport;
use crate::{
    AgentPoolManager, ChangeReviewer, ClaimedTask, Error, Lander, LandingListener, LandingReport,
    LandingResult, ResultStatus, Runner, StopSignals, TaskResult,
};

/// Minimum time between two checks of an empty queue, however often the store reports new events.
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// How long no task is claimed after an error of the store or the workspace.
const ERROR_PAUSE: Duration = Duration::from_secs(2);
/// The number of failed claims in a row after which a worker that runs `once` ends.
const MAX_CLAIM_ERRORS: u32 = 3;

/// The result of a claim, and the pool slot it was made for.
pub(crate) type ClaimOutcome = (Result<Option<ClaimedTask>, Error>, PoolPermit);

/// The reports of one check of the landing queues.
pub(crate) type LandingReports = Result<Vec<LandingReport>, Error>;

/// Claims and runs the tasks of a store.
#[derive(Debug, Clone)]
pub struct Worker {
    /// Runs each task.
    pub runner: Arc<Runner>,
    /// Limits the number of concurrent attempts.
    pub pool: AgentPoolManager,
    /// Stops when no task can be claimed, instead of waiting for more.
    pub once: bool,
    /// Restricts the worker to tasks of this project.
    pub project: Option<ProjectId>,
    /// Restricts the worker to tasks of these kinds. Empty: all kinds.
    pub kinds: Vec<WorkerKind>,
    /// Lands the proved changes.
    pub lander: Option<Lander>,
    /// Receives the reports of landings.
    pub landing_listener: Option<Arc<dyn LandingListener>>,
    /// Reviews each change after its proof.
    pub reviewer: Option<Arc<dyn ChangeReviewer>>,
    /// The entry with which the worker registers itself. Without one it has no labels, and any agent.
    pub entry: Option<NewWorker>,
}

impl Worker {
    /// Creates a worker for all tasks, with ten concurrent attempts.
    pub fn new(runner: Arc<Runner>) -> Self {
        Self {
            runner,
            pool: AgentPoolManager::default(),
            once: false,
            project: None,
            kinds: Vec::new(),
            lander: None,
            landing_listener: None,
            reviewer: None,
            entry: None,
        }
    }

    /// Runs until no task is left, with `once`, or until `stop` is cancelled. Then no further task is
    /// claimed, and running attempts get the grace period of the settings, after which they are released.
    /// If the store cannot be reached then, the worker ends some seconds later: its leases expire, and
    /// another worker takes over. A worker that is drained claims no further task either, and returns when its
    /// attempts have ended.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used at the start, or when a newer program has migrated it so that this one
    /// cannot use it any more. Other errors are retried: with `once` a few times, otherwise until `stop` is cancelled.
    pub async fn run(&self, stop: CancellationToken) -> Result<WorkerReport, Error> {
        let begin = async {
            self.clean_up().await?;
            let entry = self.entry.as_ref();
            let registered = Registration::add(&self.runner, &self.pool, entry).await;
            registered.map_err(Error::from)
        };
        let registered = tokio::select! {
            biased;
            registered = begin => registered?,
            () = stop.cancelled() => return Ok(WorkerReport::default()),
        };
        let mut run = WorkerRun {
            worker: self,
            stop: stop.child_token(),
            outdated: None,
            running: FuturesUnordered::new(),
            acquiring: None,
            claiming: None,
            reclaiming: Some(self.reclaim_expired()),
            waiting: None,
            landing: None,
            renewing: registered.as_ref().map(Registration::renew),
            registered,
            nothing_to_land: self.lander.is_none(),
            seen: 0,
            empty: false,
            ended_since_claim: false,
            claim_errors: 0,
            report: WorkerReport::default(),
        };
        let ended = run.run_loop().await;
        if let Some(error) = run.outdated {
            return Err(error.into());
        }
        if let Some(registered) = &run.registered {
            registered.remove().await;
        }
        ended.map(|()| run.report)
    }

    /// Waits for the reclaim interval, then adds the tasks of schedules that are due and reclaims expired leases.
    /// Returns the number of reclaimed tasks.
    fn reclaim_expired(&self) -> BoxFuture<'static, usize> {
        let runner = Arc::clone(&self.runner);
        let project = self.project;
        Box::pin(async move {
            runner.clock.sleep(runner.settings.sweep).await;
            runner.add_due_tasks(project).await;
            match runner.store.reclaim_expired().await {
                Ok(tasks) => tasks.len(),
                Err(error) => {
                    tracing::warn!(%error, "expired leases were not reclaimed");
                    0
                }
            }
        })
    }

    /// Waits until there may be new tasks, and returns the sequence number to wait from next time.
    fn wait(&self, seen: u64) -> BoxFuture<'static, u64> {
        let runner = Arc::clone(&self.runner);
        Box::pin(async move {
            let timeout = runner.settings.sweep;
            let began = runner.clock.elapsed();
            match runner.store.wait_for_work(seen, timeout).await {
                Ok(last) => {
                    // The first task after a quiet time starts immediately.
                    let waited = runner.clock.elapsed().saturating_sub(began);
                    let rest = MIN_CHECK_INTERVAL.saturating_sub(waited);
                    if !rest.is_zero() {
                        runner.clock.sleep(rest).await;
                    }
                    last
                }
                Err(_) => {
                    runner.clock.sleep(ERROR_PAUSE).await;
                    seen
                }
            }
        })
    }

    fn pause(&self, seen: u64) -> BoxFuture<'static, u64> {
        let pause = self.runner.clock.sleep(ERROR_PAUSE);
        Box::pin(async move {
            pause.await;
            seen
        })
    }
}

/// One run of a worker.
struct WorkerRun<'a> {
    worker: &'a Worker,
    /// Cancelled by the caller, or when this program is too old for the store.
    stop: CancellationToken,
    outdated: Option<StoreError>,
    running: FuturesUnordered<BoxFuture<'static, (TaskId, TaskResult)>>,
    /// The next free slot of the pool, for a claim.
    acquiring: Option<BoxFuture<'static, Option<PoolPermit>>>,
    claiming: Option<BoxFuture<'static, ClaimOutcome>>,
    reclaiming: Option<BoxFuture<'static, usize>>,
    waiting: Option<BoxFuture<'static, u64>>,
    landing: Option<BoxFuture<'static, LandingReports>>,
    /// The entry of the worker, and its next renewal.
    registered: Option<Registration>,
    renewing: Option<BoxFuture<'static, Registration>>,
    /// The last check of the landing queues found nothing that can land now.
    nothing_to_land: bool,
    /// The last sequence number that this worker knows.
    seen: u64,
    /// The last claim found no task.
    empty: bool,
    /// An attempt has ended since the last claim was sent, which may have unblocked other tasks.
    ended_since_claim: bool,
    /// The number of failed claims since the last successful one.
    claim_errors: u32,
    report: WorkerReport,
}

impl WorkerRun<'_> {
    async fn run_loop(&mut self) -> Result<(), Error> {
        loop {
            let stopping = self.stop.is_cancelled() || self.report.drained;
            if self.claiming.is_none() && self.running.is_empty() && self.landing.is_none() {
                let nothing_left = self.empty && self.nothing_to_land && self.worker.once;
                if stopping || nothing_left {
                    return Ok(());
                }
            }
            if stopping {
                self.acquiring = None;
            } else if self.waiting.is_none() && self.claiming.is_none() && self.acquiring.is_none()
            {
                self.next();
            }
            if !stopping && !self.nothing_to_land && self.landing.is_none() {
                self.landing = self.worker.land(self.stop.clone());
            }
            tokio::select! {
                biased;
                Some((task, result)) = self.running.next() => self.on_result(task, result),
                Some(slot) = take_ready(&mut self.acquiring) => self.claim(slot),
                claim = take_ready(&mut self.claiming) => self.on_claim(claim)?,
                landed = take_ready(&mut self.landing) => self.on_landed(landed),
                reclaimed = take_ready(&mut self.reclaiming) => {
                    self.reclaiming = Some(self.worker.reclaim_expired());
                    self.empty &= reclaimed == 0;
                }
                seen = take_ready(&mut self.waiting) => {
                    self.seen = seen;
                    self.empty = false;
                    self.nothing_to_land = self.worker.lander.is_none();
                }
                renewed = take_ready(&mut self.renewing) => self.on_renewed(renewed),
                () = self.stop.cancelled(), if !stopping => self.waiting = None,
            }
        }
    }

    /// Starts a claim as soon as the pool has a free slot, unless there was nothing to claim.
    fn next(&mut self) {
        if self.empty {
            self.waiting = Some(self.worker.wait(self.seen));
            return;
        }
        match self.worker.pool.try_acquire() {
            Some(slot) => self.claim(slot),
            None => {
                let pool = self.worker.pool.clone();
                self.acquiring = Some(Box::pin(async move { pool.acquire().await }));
            }
        }
    }

    fn claim(&mut self, slot: PoolPermit) {
        let registered = self.registered.as_ref();
        self.ended_since_claim = false;
        self.claiming = Some(self.worker.claim(slot, registered, self.stop.clone()));
    }

    /// Stops everything: no write of this program succeeds any more. Other workers take its tasks over.
    fn on_outdated(&mut self, error: StoreError) {
        self.stop.cancel();
        self.waiting = None;
        self.outdated = Some(error);
    }

    fn on_renewed(&mut self, mut renewed: Registration) {
        if let Some(error) = renewed.outdated.take() {
            self.registered = Some(renewed);
            return self.on_outdated(error);
        }
        self.renewing = Some(renewed.renew());
        if renewed.draining && !self.report.drained {
            tracing::info!("draining: no further task is claimed");
            self.report.drained = true;
            self.waiting = None;
        }
        self.registered = Some(renewed);
    }

    fn on_claim(&mut self, (result, slot): ClaimOutcome) -> Result<(), Error> {
        self.claim_errors = if result.is_ok() {
            0
        } else {
            self.claim_errors + 1
        };
        match result {
            Ok(Some(claimed)) => {
                let runner = Arc::clone(&self.worker.runner);
                let (stop, reviewer) = (self.stop.clone(), self.worker.reviewer.clone());
                let signals = StopSignals {
                    stop: stop.clone(),
                    ..StopSignals::default()
                };
                // A review is part of the work.
                let (slot, review_slot) = match reviewer {
                    Some(_) => (None, Some(slot)),
                    None => (Some(slot), None),
                };
                self.running.push(Box::pin(async move {
                    let task = claimed.claimed.attempt.task;
                    let result = attempt::run(&runner, claimed, signals, slot).await;
                    if let Some(reviewer) = reviewer
                        && result.status == ResultStatus::Completed
                    {
                        tokio::select! {
                            () = reviewer.review(task) => {}
                            () = stop.cancelled() => {}
                        }
                    }
                    drop(review_slot);
                    (task, result)
                }));
            }
            Ok(None) => self.empty = !self.ended_since_claim,
            Err(Error::Store(error)) if error.is_outdated() => self.on_outdated(error),
            Err(error)
                if self.worker.once
                    && self.running.is_empty()
                    && self.claim_errors >= MAX_CLAIM_ERRORS =>
            {
                return Err(error);
            }
            Err(error) => {
                tracing::warn!(%error, "claiming a task failed");
                self.waiting = Some(self.worker.pause(self.seen));
            }
        }
        Ok(())
    }

    fn on_landed(&mut self, landed: LandingReports) {
        let reports = landed.unwrap_or_else(|error| {
            tracing::warn!(%error, "landing failed");
            Vec::new()
        });
        let is_waiting = |report: &LandingReport| matches!(report.result, LandingResult::Waits(_));
        // Waiting work is checked again after the next event, or after the reclaim interval.
        self.nothing_to_land = reports.iter().all(is_waiting);
        // A returned change is a task to claim.
        self.empty &= self.nothing_to_land;
        if !self.nothing_to_land {
            self.waiting = None;
        }
        let listener = self.worker.landing_listener.as_deref();
        self.report.add_landings(reports, listener);
    }

    fn on_result(&mut self, task: TaskId, result: TaskResult) {
        tracing::info!(task = task.get(), status = %result.status, "attempt ended");
        // The end of this attempt may have unblocked other tasks, and its change may land.
        self.empty = false;
        self.ended_since_claim = true;
        self.nothing_to_land = self.worker.lander.is_none();
        // If the store or the disk has a problem, claiming the same task again immediately does not help.
        let is_lost = matches!(
            result.status,
            ResultStatus::Superseded | ResultStatus::Failed
        );
        if is_lost {
            self.acquiring = None;
            self.waiting = Some(self.worker.pause(self.seen));
        } else {
            self.waiting = None;
        }
        self.report.add(task, result);
    }
}

/// Waits for the future in the slot, takes it out and returns its output. Never returns if the slot is empty.
async fn take_ready<T>(slot: &mut Option<BoxFuture<'static, T>>) -> T {
    match slot {
        Some(future) => {
            let output = future.await;
            *slot = None;
            output
        }
        None => std::future::pending().await,
    }
}
