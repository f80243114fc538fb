//! Many workers on one database, in one process: each has a store with connections of its own, and calls it as a worker does.
//!
//! `crowd URL WORKERS SECONDS idle` lets them wait for tasks; `add` adds a task every 200 ms meanwhile; `busy` lets each hold a
//! task and report events; `drain` lets them claim and finish what waits. At the end it prints one line of JSON.
//! `scripts/bench scale` counts what the database does meanwhile.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::exit,
    reason = "a benchmark fails by panicking and prints its results"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use parking_lot::Mutex;
use tokio::time::Instant;
use windlass_core::{Clock as _, SystemClock, Usage};
use windlass_store::{StoreSettings, open_with};
use windlass_tasks::{
    AttemptRef, Broadcast, Claim, Claimed, LandingClaim, NewProject, NewTask, NewWorker, Outcome,
    ProjectId, PushClaim, TaskStatus, TaskStore, WorkerId,
};

const LEASE: Duration = Duration::from_secs(30);
const HEARTBEAT: Duration = Duration::from_secs(10);
const SWEEP: Duration = Duration::from_secs(5);
const ADD_INTERVAL: Duration = Duration::from_millis(200);
/// How long each worker has to open its connections before the measurement.
const WARM_UP: Duration = Duration::from_millis(15);
/// How many stores are opened at the same time.
const OPENING: usize = 8;
/// The title of a task that is added while workers wait. The database is on this machine, so both have the same clock.
const ADDED: &str = "added";
/// Time limit of a statement: the machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(120);

/// What the workers did, and when.
#[derive(Default)]
struct Figures {
    claims: AtomicU64,
    claimed: AtomicU64,
    errors: AtomicU64,
    claim_times: Mutex<Vec<Duration>>,
    waits: Mutex<Vec<Duration>>,
}

impl Figures {
    /// Forgets what happened before the measurement.
    fn reset(&self) {
        for counter in [&self.claims, &self.claimed, &self.errors] {
            counter.store(0, Ordering::Relaxed);
        }
        self.claim_times.lock().clear();
        self.waits.lock().clear();
    }
}

struct Member {
    store: Arc<dyn TaskStore>,
    id: WorkerId,
    project: ProjectId,
    name: String,
    figures: Arc<Figures>,
}

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let (Some(url), Some(workers), Some(seconds), Some(mode)) =
        (args.next(), args.next(), args.next(), args.next())
    else {
        // `cargo bench` runs every benchmark of the package.
        return;
    };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let seconds = Duration::from_secs(seconds.parse().unwrap());
    runtime.block_on(run(&url, workers.parse().unwrap(), seconds, &mode));
}

async fn open(url: &str) -> Arc<dyn TaskStore> {
    let mut settings = StoreSettings::default();
    settings.open_timeout = TIMEOUT;
    settings.query_timeout = TIMEOUT;
    settings.commit_timeout = TIMEOUT;
    open_with(url, settings).await.unwrap()
}

async fn run(url: &str, workers: usize, seconds: Duration, mode: &str) {
    let figures = Arc::new(Figures::default());
    let own = open(url).await;
    let (name, root) = ("crowd".to_owned(), "/crowd".into());
    let project = own.add_project(NewProject { name, root }).await.unwrap().id;
    let members = stream::iter(0..workers)
        .map(|number| join(url, number, project, Arc::clone(&figures)))
        .buffer_unordered(OPENING);
    let members: Vec<Arc<Member>> = members.map(Arc::new).collect().await;
    if mode == "busy" {
        let new = (0..workers).map(|_| vec![NewTask::new(project, "busy")]);
        stream::iter(new)
            .for_each_concurrent(OPENING, async |new| drop(own.enqueue(new).await.unwrap()))
            .await;
    }
    // Workers that wait or run a task first open their connections, each at a time of its own.
    let warm = if mode == "drain" {
        Duration::ZERO
    } else {
        WARM_UP * u32::try_from(workers).unwrap()
    };
    let spread = warm
        .checked_div(u32::try_from(workers.max(1)).unwrap())
        .unwrap_or_default();
    let (begin, began) = tokio::sync::watch::channel(false);
    for (number, member) in (0_u32..).zip(members) {
        let mut began = began.clone();
        let drains = mode == "drain";
        let holds = mode == "busy";
        tokio::spawn(async move {
            if drains {
                // An error means that the process ends.
                let _ = began.wait_for(|began| *began).await;
            }
            tokio::time::sleep(spread * number).await;
            tokio::spawn(Arc::clone(&member).renew());
            tokio::spawn(Arc::clone(&member).reclaim());
            tokio::spawn(Arc::clone(&member).outbox());
            if holds {
                member.hold().await;
            } else {
                member.work(drains).await;
            }
        });
    }
    tokio::time::sleep(warm + warm / 2).await;
    // The caller reads the counters of the database, then lets the measurement begin.
    println!("ready");
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()))
        .await
        .unwrap()
        .unwrap();
    figures.reset();
    begin.send_replace(true);
    let started = Instant::now();
    while started.elapsed() < seconds {
        if mode == "add" {
            let added = own.enqueue(vec![NewTask::new(project, ADDED)]).await;
            if added.is_err() {
                figures.errors.fetch_add(1, Ordering::Relaxed);
            }
        }
        tokio::time::sleep(ADD_INTERVAL).await;
    }
    print(&figures, started.elapsed());
    // What is still running ends with the process.
    std::process::exit(0);
}

async fn join(url: &str, number: usize, project: ProjectId, figures: Arc<Figures>) -> Member {
    let store = open(url).await;
    let name = format!("crowd-{}/{number}", std::process::id());
    let entry = NewWorker {
        name: name.clone(),
        machine: format!("crowd-{number}"),
        version: "bench".to_owned(),
        labels: Vec::new(),
        kinds: Vec::new(),
        agents: vec!["claude".to_owned(), "codex".to_owned()],
        project_id: None,
        lanes: 1,
        interval: HEARTBEAT,
    };
    let id = store.register_worker(entry).await.unwrap();
    Member {
        store,
        id,
        project,
        name,
        figures,
    }
}

impl Member {
    /// Claims, and waits when there is nothing. What it claims it finishes at once.
    async fn work(self: Arc<Self>, drains: bool) {
        let mut seen = 0;
        loop {
            match self.claim().await {
                Some(claimed) => self.finish(claimed.attempt).await,
                None if drains => return,
                None => {
                    self.land().await;
                    seen = self.store.wait_for_work(seen, SWEEP).await.unwrap_or(seen);
                }
            }
        }
    }

    async fn claim(&self) -> Option<Claimed> {
        let claim = Claim {
            worker: self.name.clone(),
            lease: LEASE,
            worker_id: Some(self.id),
            agents: Some(vec!["claude".to_owned(), "codex".to_owned()]),
            ..Claim::default()
        };
        let started = Instant::now();
        let result = self.store.claim(claim).await;
        self.figures.claims.fetch_add(1, Ordering::Relaxed);
        let claimed = self.ok(result).flatten()?;
        self.figures.claim_times.lock().push(started.elapsed());
        self.figures.claimed.fetch_add(1, Ordering::Relaxed);
        if claimed.task.title == ADDED {
            let now = SystemClock::new().now().0;
            let wait = now.saturating_sub(claimed.task.created_at.0);
            self.figures.waits.lock().push(Duration::from_millis(wait));
        }
        Some(claimed)
    }

    async fn finish(&self, attempt: AttemptRef) {
        let outcome = Outcome::Completed {
            proof: None,
            branch: None,
            output: "done".to_owned(),
        };
        let finished = self.store.finish(attempt, outcome, Usage::default());
        self.ok(finished.await);
    }

    /// Holds a task as long as the process runs: renews its lease, looks for changes, and reports an event each second.
    async fn hold(self: Arc<Self>) {
        let Some(claimed) = self.claim().await else {
            return;
        };
        let task = claimed.task.id;
        let mut number: u32 = 0;
        let (mut beat, mut look) = (Instant::now(), Instant::now());
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let interval = Duration::from_millis(500) * self.store.known_workers().div_ceil(50);
            if look.elapsed() >= interval.min(HEARTBEAT) {
                look = Instant::now();
                self.ok(self.store.task(task).await);
            }
            if beat.elapsed() >= HEARTBEAT {
                beat = Instant::now();
                self.ok(self.store.heartbeat(claimed.attempt, LEASE).await);
            }
            number += 1;
            if number.is_multiple_of(2) {
                let status = TaskStatus::InProgress;
                let event = Broadcast::TaskStatus {
                    project_id: self.project,
                    task_id: task,
                    status,
                    agent_id: format!("event {number}"),
                };
                let appended = self.store.append_events(Some(claimed.attempt), vec![event]);
                self.ok(appended.await);
            }
        }
    }

    async fn renew(self: Arc<Self>) {
        loop {
            tokio::time::sleep(HEARTBEAT).await;
            self.ok(self.store.renew_worker(self.id, 0).await);
        }
    }

    async fn reclaim(self: Arc<Self>) {
        loop {
            tokio::time::sleep(SWEEP).await;
            self.ok(self.store.schedules(None).await);
            self.ok(self.store.reclaim_expired().await);
        }
    }

    async fn outbox(self: Arc<Self>) {
        let mut seen = 0;
        loop {
            let claim = PushClaim {
                id: None,
                project_id: None,
                lease: LEASE,
            };
            self.ok(self.store.claim_push(claim).await);
            seen = self.store.wait_for_work(seen, SWEEP).await.unwrap_or(seen);
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }

    async fn land(&self) {
        self.ok(self.store.due_landings(None).await);
        let claim = LandingClaim {
            worker: self.name.clone(),
            project_id: None,
            tasks: Vec::new(),
            max: 1,
            lease: LEASE,
        };
        self.ok(self.store.claim_landings(claim).await);
    }

    fn ok<T>(&self, result: windlass_tasks::StoreResult<T>) -> Option<T> {
        if result.is_err() {
            self.figures.errors.fetch_add(1, Ordering::Relaxed);
        }
        result.ok()
    }
}

fn print(figures: &Figures, elapsed: Duration) {
    let at = |times: &Mutex<Vec<Duration>>, share: usize| {
        let mut times = times.lock().clone();
        times.sort_unstable();
        let found = times.get((times.len().saturating_sub(1)) * share / 100);
        found.map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    };
    let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    println!(
        "{}",
        serde_json::json!({
            "seconds": elapsed.as_secs_f64(),
            "claims": number(&figures.claims),
            "claimed": number(&figures.claimed),
            "errors": number(&figures.errors),
            "claim_p50_ms": at(&figures.claim_times, 50),
            "claim_p99_ms": at(&figures.claim_times, 99),
            "wait_p50_ms": at(&figures.waits, 50),
            "wait_p99_ms": at(&figures.waits, 99),
        })
    );
}
