//! Takes one task after the other from the store, several at a time.
//!
//! The worker is one future: the claims, the sweeps and all its attempts. Dropping it is exactly a crash of the worker.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio_util::sync::CancellationToken;
use windlass_core::task::{AttemptRef, ProjectId, TaskFilter, TaskId, TaskStatus, WorkerKind};

use crate::pool::PoolPermit;
use crate::{AgentPoolManager, ClaimedTask, Error, ResultStatus, Runner, StopSignals, TaskResult};

/// How soon after an empty queue it is looked at again, however often the store says that something changed.
const DEBOUNCE: Duration = Duration::from_millis(10);
/// How long no task is taken after the store or the place to work was in trouble.
const ERROR_PAUSE: Duration = Duration::from_secs(2);

/// How many tasks are looked at to learn whose clones must stay: so many at a time, so many times.
const PAGE_SIZE: u32 = 500;
const MAX_PAGES: u32 = 20;

/// A loop over the store's tasks.
#[derive(Debug, Clone)]
pub struct Worker {
    /// Works on each task.
    pub runner: Arc<Runner>,
    /// Room for so many attempts at once.
    pub pool: AgentPoolManager,
    /// Ends when nothing is left to be taken, instead of waiting for more.
    pub once: bool,
    /// Only tasks of this project.
    pub project: Option<ProjectId>,
    /// Only tasks for these kinds of worker. Empty: any.
    pub kinds: Vec<WorkerKind>,
}

/// What a worker did, until it stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// The last [`KEPT`](Self::KEPT) attempts, each with its task and result, in the order they ended.
    pub results: VecDeque<(TaskId, TaskResult)>,
    counts: HashMap<ResultStatus, u64>,
}

impl WorkerReport {
    /// How many results are kept: a worker may live for months.
    pub const MAX_RESULTS: usize = 1000;

    /// How many attempts ended like this.
    pub fn count(&self, status: ResultStatus) -> u64 {
        self.counts.get(&status).copied().unwrap_or_default()
    }

    fn add(&mut self, task: TaskId, result: TaskResult) {
        *self.counts.entry(result.status).or_default() += 1;
        if self.results.len() == Self::MAX_RESULTS {
            self.results.pop_front();
        }
        self.results.push_back((task, result));
    }
}

impl Worker {
    /// A worker for every task, with room for ten at once.
    pub fn new(runner: Arc<Runner>) -> Self {
        Self {
            runner,
            pool: AgentPoolManager::default(),
            once: false,
            project: None,
            kinds: Vec::new(),
        }
    }

    /// Works until there is nothing left, with `once`, or until it is told to stop: then no further task is taken, and
    /// those under way get the grace of the settings, after which they are given back.
    ///
    /// # Errors
    ///
    /// Where the store cannot be used at the very start. Later trouble is waited out.
    pub async fn run(&self, stop: CancellationToken) -> Result<WorkerReport, Error> {
        self.clean_up().await?;
        let mut work = WorkerRun {
            worker: self,
            stop: stop.clone(),
            running: FuturesUnordered::new(),
            claiming: None,
            sweeping: Some(self.reclaim_expired()),
            waiting: None,
            seen: 0,
            empty: false,
            report: WorkerReport::default(),
        };
        work.run_loop().await;
        Ok(work.report)
    }

    /// Takes back what a crash left: leases that ran out, and clones of attempts that are no more.
    async fn clean_up(&self) -> Result<(), Error> {
        let store = &self.runner.store;
        store.reclaim_expired().await?;
        let mut living = Vec::new();
        for status in [TaskStatus::InProgress, TaskStatus::Pending] {
            let mut filter = TaskFilter {
                status: Some(status),
                limit: PAGE_SIZE,
                ..TaskFilter::default()
            };
            for _ in 0..MAX_PAGES {
                let page = store.tasks(filter.clone()).await?;
                filter.after = page.last().map(|task| task.id);
                // The attempt under way, and the next one: another worker may begin it while we clear.
                living.extend(page.iter().flat_map(|task| {
                    [task.attempt, task.attempt + 1].map(|number| AttemptRef {
                        task: task.id,
                        number,
                    })
                }));
                if filter.after.is_none() {
                    break;
                }
            }
        }
        match self.runner.workspace.remove_stale(&living).await {
            Ok(0) => {}
            Ok(cleared) => tracing::info!(cleared, "clones of dead attempts were removed"),
            Err(error) => tracing::warn!(%error, "clones of dead attempts were not removed"),
        }
        Ok(())
    }

    /// Waits until the next sweep is due, and sweeps. Gives how many tasks were taken back.
    fn reclaim_expired(&self) -> BoxFuture<'static, usize> {
        let runner = Arc::clone(&self.runner);
        Box::pin(async move {
            runner.clock.sleep(runner.settings.sweep).await;
            match runner.store.reclaim_expired().await {
                Ok(tasks) => tasks.len(),
                Err(error) => {
                    tracing::warn!(%error, "the store was not swept");
                    0
                }
            }
        })
    }

    fn claim(&self, slot: PoolPermit) -> BoxFuture<'static, ClaimOutcome> {
        let runner = Arc::clone(&self.runner);
        let mut claim = runner.next_claim();
        claim.project_id = self.project;
        claim.kinds.clone_from(&self.kinds);
        Box::pin(async move { (runner.claim_task(claim).await, slot) })
    }

    /// Waits until there may be tasks again, and gives the number to wait from next time.
    fn wait(&self, seen: u64) -> BoxFuture<'static, u64> {
        let runner = Arc::clone(&self.runner);
        Box::pin(async move {
            let patience = runner.settings.sweep;
            match runner.store.wait_for_events(seen, patience).await {
                Ok(last) => {
                    runner.clock.sleep(DEBOUNCE).await;
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

/// What a claim brought, and the place in the pool that it was made for.
type ClaimOutcome = (Result<Option<ClaimedTask>, Error>, PoolPermit);

/// One run of a worker.
struct WorkerRun<'a> {
    worker: &'a Worker,
    stop: CancellationToken,
    running: FuturesUnordered<BoxFuture<'static, (TaskId, TaskResult)>>,
    claiming: Option<BoxFuture<'static, ClaimOutcome>>,
    sweeping: Option<BoxFuture<'static, usize>>,
    waiting: Option<BoxFuture<'static, u64>>,
    /// The number of the last message that this worker knows of.
    seen: u64,
    /// Whether the last look found nothing to take.
    empty: bool,
    report: WorkerReport,
}

impl WorkerRun<'_> {
    async fn run_loop(&mut self) {
        loop {
            let stopping = self.stop.is_cancelled();
            if self.claiming.is_none() && self.running.is_empty() {
                let nothing_left = self.empty && self.worker.once;
                if stopping || nothing_left {
                    return;
                }
            }
            if !stopping && self.waiting.is_none() && self.claiming.is_none() {
                self.next();
            }
            tokio::select! {
                biased;
                Some((task, result)) = self.running.next() => self.on_result(task, result),
                taken = take_ready(&mut self.claiming) => self.on_claim(taken),
                swept = take_ready(&mut self.sweeping) => {
                    self.sweeping = Some(self.worker.reclaim_expired());
                    self.empty &= swept == 0;
                }
                seen = take_ready(&mut self.waiting) => {
                    self.seen = seen;
                    self.empty = false;
                }
                () = self.stop.cancelled(), if !stopping => self.waiting = None,
            }
        }
    }

    /// Asks for a task where there is room for one, and waits where there is none.
    fn next(&mut self) {
        if self.empty {
            self.waiting = Some(self.worker.wait(self.seen));
        } else if let Some(slot) = self.worker.pool.try_acquire() {
            self.claiming = Some(self.worker.claim(slot));
        } else if self.running.is_empty() {
            // Somebody else who shares the pool has all of it.
            self.waiting = Some(self.worker.pause(self.seen));
        }
    }

    fn on_claim(&mut self, (taken, slot): ClaimOutcome) {
        match taken {
            Ok(Some(taken)) => {
                let runner = Arc::clone(&self.worker.runner);
                let signals = StopSignals {
                    stop: self.stop.clone(),
                    ..StopSignals::default()
                };
                self.running.push(Box::pin(async move {
                    let task = taken.claimed.attempt.task;
                    let result = runner.run_attempt(taken, signals).await;
                    drop(slot);
                    (task, result)
                }));
            }
            Ok(None) => self.empty = true,
            Err(error) => {
                tracing::warn!(%error, "no task could be taken");
                self.waiting = Some(self.worker.pause(self.seen));
            }
        }
    }

    fn on_result(&mut self, task: TaskId, result: TaskResult) {
        tracing::info!(task, status = %result.status, "attempt ended");
        // What ended may have made room for those that waited for it.
        self.empty = false;
        if result.status == ResultStatus::Superseded || result.status == ResultStatus::Failed {
            // A store or a disk in trouble is not helped by taking the same task again at once.
            self.waiting = Some(self.worker.pause(self.seen));
        }
        self.report.add(task, result);
    }
}

/// The future's end, and an empty place after it. Without a future there is no end.
async fn take_ready<T>(place: &mut Option<BoxFuture<'static, T>>) -> T {
    match place {
        Some(future) => {
            let done = future.await;
            *place = None;
            done
        }
        None => std::future::pending().await,
    }
}
