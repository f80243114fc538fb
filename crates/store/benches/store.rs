//! Measures how fast tasks are added, claimed and finished, compared with bare inserts into the same database.
//!
//! Run `cargo bench -p windlass-store`, or for one database `cargo bench -p windlass-store -- sqlite`. With `growth`, it
//! measures claims with more and more waiting tasks instead. The writes reach the disk: PostgreSQL runs with `fsync` on.
//! The last column is the ratio to bare inserts by as many clients (on SQLite, which has one writer, by one client).

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking and prints its results"
)]

#[path = "../tests/suite/cluster.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod cluster;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use windlass_core::{Clock, SystemClock, Usage};
use windlass_store::{StoreSettings, open_with};
use windlass_tasks::{Claim, NewProject, NewTask, Outcome, ProjectId, TaskStore};

/// How many clients write at the same time.
const CLIENTS: [usize; 2] = [1, 16];
const PENDING: usize = 100_000;
const CLAIMS: usize = 2_000;
/// How many tasks wait, for the growth of a claim.
const GROWTH: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
const GROWTH_CLAIMS: usize = 300;

fn main() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let only: Vec<String> = std::env::args().skip(1).collect();
    let growth = only.iter().any(|only| only == "growth");
    let wanted = |name: &str| {
        !only
            .iter()
            .any(|only| !only.starts_with('-') && only != name && only != "growth")
    };
    runtime.block_on(async {
        if wanted("sqlite") && growth {
            let path = dir.path().join("growth.db");
            grow("SQLite", &format!("sqlite:{}", path.display())).await;
        } else if wanted("sqlite") {
            let bare = bare_sqlite(&dir.path().join("bare.db")).await;
            println!("SQLite: bare inserts                    {bare:>9.0} /s   1.00");
            let url = format!("sqlite:{}/windlass.db", dir.path().display());
            measure("SQLite", &url, [bare, bare]).await;
        }
        if wanted("postgres") {
            let settings = ["fsync=on", "full_page_writes=on"];
            let cluster = cluster::Cluster::start("bench", &settings);
            let database = cluster.database().await;
            let url = cluster.url(&database);
            if growth {
                grow("PostgreSQL", &url).await;
                return;
            }
            let mut bare = [0.0; 2];
            for (bare, clients) in bare.iter_mut().zip(CLIENTS) {
                *bare = bare_postgres(&cluster, &database, clients).await;
                println!("PostgreSQL: bare inserts by {clients:>2} clients  {bare:>9.0} /s   1.00");
            }
            measure("PostgreSQL", &url, bare).await;
        }
    });
}

/// One insert, one commit and one wait for the disk per row.
async fn bare_sqlite(path: &Path) -> f64 {
    const COUNT: u32 = 2_000;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let mut connection = options.connect().await.unwrap();
    let table = "CREATE TABLE task (id INTEGER PRIMARY KEY, title TEXT NOT NULL)";
    sqlx::raw_sql(table).execute(&mut connection).await.unwrap();
    let clock = SystemClock::new();
    for _ in 0..COUNT {
        let insert = sqlx::query("INSERT INTO task (title) VALUES ($1)").bind("sell tea");
        insert.execute(&mut connection).await.unwrap();
    }
    rate(COUNT as usize, &clock)
}

/// One insert, one commit and one wait for the disk per row, on one connection per client.
async fn bare_postgres(cluster: &cluster::Cluster, database: &str, clients: usize) -> f64 {
    const COUNT: usize = 500;
    let mut connections = Vec::new();
    for _ in 0..clients {
        let mut connection = cluster.connect(database).await;
        let table = "CREATE TABLE IF NOT EXISTS bare \
                     (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, title TEXT NOT NULL)";
        sqlx::raw_sql(table).execute(&mut connection).await.unwrap();
        connections.push(connection);
    }
    let clock = SystemClock::new();
    let all = connections.into_iter().map(|mut connection| {
        tokio::spawn(async move {
            for _ in 0..COUNT {
                let insert = sqlx::query("INSERT INTO bare (title) VALUES ($1)").bind("sell tea");
                insert.execute(&mut connection).await.unwrap();
            }
        })
    });
    for client in futures::future::join_all(all).await {
        client.unwrap();
    }
    rate(clients * COUNT, &clock)
}

fn rate(count: usize, clock: &SystemClock) -> f64 {
    count as f64 / clock.elapsed().as_secs_f64()
}

async fn measure(name: &str, url: &str, bare: [f64; 2]) {
    let mut settings = StoreSettings::default();
    settings.query_timeout = Duration::from_secs(60);
    settings.commit_timeout = Duration::from_secs(60);
    let store = open_with(url, settings.clone()).await.unwrap();
    let other = open_with(url, settings).await.unwrap();
    let root = "/home/me/shop".into();
    let project = NewProject {
        name: "shop".to_owned(),
        root,
    };
    let project = store.add_project(project).await.unwrap().id;

    for (clients, bare) in CLIENTS.into_iter().zip(bare) {
        let each = 8_000 / clients.max(4);
        let rate = enqueue(&store, project, clients, each).await;
        let ratio = rate / bare;
        println!("{name}: added by {clients:>2} clients {rate:>20.0} /s   {ratio:.2}");
    }
    for (clients, bare) in CLIENTS.into_iter().zip(bare) {
        let each = 2_000 / clients;
        let rate = claim_and_finish(&store, clients, each).await;
        let ratio = rate / bare;
        println!("{name}: claimed and finished by {clients:>2} {rate:>16.0} /s   {ratio:.2}");
    }
    let mut start = start_latencies(&store, &other, project).await;
    print_percentiles(
        &format!("{name}: from adding to its claim by an idle worker"),
        &mut start,
    );
    for _ in 0..PENDING / 1_000 {
        let many = vec![NewTask::new(project, "sell tea"); 1_000];
        store.enqueue(many).await.unwrap();
    }
    let mut claims = claim_times(&store, CLAIMS).await;
    print_percentiles(
        &format!("{name}: a claim with {PENDING} waiting"),
        &mut claims,
    );
}

/// Measures claims while more and more tasks wait.
async fn grow(name: &str, url: &str) {
    let store = windlass_store::open(url).await.unwrap();
    let root = "/home/me/shop".into();
    let project = NewProject {
        name: "shop".to_owned(),
        root,
    };
    let project = store.add_project(project).await.unwrap().id;
    let mut waiting = 0;
    for count in GROWTH {
        while waiting < count {
            let many = vec![NewTask::new(project, "sell tea"); 1_000];
            store.enqueue(many).await.unwrap();
            waiting += 1_000;
        }
        let mut claims = claim_times(&store, GROWTH_CLAIMS).await;
        waiting -= GROWTH_CLAIMS;
        print_percentiles(
            &format!("{name}: a claim with {count} waiting"),
            &mut claims,
        );
    }
}

async fn claim_times(store: &Arc<dyn TaskStore>, count: usize) -> Vec<Duration> {
    let clock = SystemClock::new();
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let before = clock.elapsed();
        store.claim(any()).await.unwrap().unwrap();
        times.push(clock.elapsed() - before);
    }
    times
}

/// Runs loops that claim a task and complete it without any work. Like a worker, each claims the next task at the same time as it
/// completes one.
async fn claim_and_finish(store: &Arc<dyn TaskStore>, clients: usize, each: usize) -> f64 {
    let clock = SystemClock::new();
    let all = (0..clients).map(|_| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let mut claimed = store.claim(any()).await.unwrap();
            for left in (0..each).rev() {
                let outcome = Outcome::Completed {
                    proof: None,
                    branch: None,
                    output: "done".to_owned(),
                };
                let attempt = claimed.unwrap().attempt;
                let finish = store.finish(attempt, outcome, Usage::default());
                let next = async {
                    match left {
                        0 => Ok(None),
                        _ => store.claim(any()).await,
                    }
                };
                let (finished, next) = futures::join!(finish, next);
                finished.unwrap();
                claimed = next.unwrap();
            }
        })
    });
    for client in futures::future::join_all(all).await {
        client.unwrap();
    }
    rate(clients * each, &clock)
}

fn print_percentiles(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let percentile = |n: usize| times[times.len() * n / 100].as_secs_f64() * 1_000.0;
    println!(
        "{what}: p50 {:.2} ms, p99 {:.2} ms",
        percentile(50),
        percentile(99)
    );
}

fn any() -> Claim {
    Claim {
        worker: "w".to_owned(),
        lease: Duration::from_secs(30),
        ..Claim::default()
    }
}

async fn enqueue(
    store: &Arc<dyn TaskStore>,
    project: ProjectId,
    clients: usize,
    each: usize,
) -> f64 {
    let clock = SystemClock::new();
    let mut all = Vec::new();
    for _ in 0..clients {
        let store = Arc::clone(store);
        all.push(tokio::spawn(async move {
            for _ in 0..each {
                let new = NewTask::new(project, "sell tea");
                store.enqueue(vec![new]).await.unwrap();
            }
        }));
    }
    for client in all {
        client.await.unwrap();
    }
    rate(clients * each, &clock)
}

/// Measures the time from adding a task to its claim. A worker on another connection waits while tasks are
/// added one by one. They have a higher priority than the waiting tasks.
async fn start_latencies(
    store: &Arc<dyn TaskStore>,
    other: &Arc<dyn TaskStore>,
    project: ProjectId,
) -> Vec<Duration> {
    let clock = SystemClock::new();
    let mut times = Vec::new();
    let mut seen = other.wait_for_events(0, Duration::ZERO).await.unwrap();
    for _ in 0..300 {
        let worker = {
            let other = Arc::clone(other);
            tokio::spawn(async move {
                let seen = other
                    .wait_for_events(seen, Duration::from_secs(60))
                    .await
                    .unwrap();
                (seen, other.claim(any()).await.unwrap().unwrap())
            })
        };
        let mut new = NewTask::new(project, "urgent");
        new.priority = 0;
        let before = clock.elapsed();
        let added = store.enqueue(vec![new]).await.unwrap();
        let (_, claimed) = worker.await.unwrap();
        times.push(clock.elapsed() - before);
        assert_eq!(claimed.task.id, added[0].task.id);
        seen = other.wait_for_events(0, Duration::ZERO).await.unwrap();
    }
    times
}
