//! Adds jobs with apalis, takes them without doing any work, and prints jobs per second. Uses the database DATABASE_URL.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use apalis::layers::WorkerBuilderExt;
use apalis::prelude::*;
use apalis_postgres::{PgPool, PostgresStorage};
use apalis_sqlite::{SqlitePool, SqliteStorage};
use tokio::sync::Notify;

const POLL: Duration = Duration::from_millis(50);

/// Jobs that are left, and who waits for their end.
struct Left {
    jobs: AtomicUsize,
    none: Notify,
}

async fn nothing(_job: usize, left: Data<Arc<Left>>) -> Result<(), BoxDynError> {
    if left.jobs.fetch_sub(1, Ordering::SeqCst) == 1 {
        left.none.notify_one();
    }
    Ok(())
}

/// Measures one storage: `$new` makes a handle for it.
macro_rules! measure {
    ($new:expr, $jobs:expr) => {{
        let jobs: usize = $jobs;
        let mut rates = serde_json::Map::new();
        for clients in [1, 16] {
            let started = Instant::now();
            let adding = (0..clients).map(|_| {
                let mut storage = $new;
                tokio::spawn(async move {
                    for job in 0..jobs / clients {
                        storage.push(job).await.unwrap();
                    }
                })
            });
            for client in adding.collect::<Vec<_>>() {
                client.await?;
            }
            let rate = (jobs / clients * clients) as f64 / started.elapsed().as_secs_f64();
            rates.insert(format!("added by {clients}"), rate.into());
            let left = Arc::new(Left { jobs: (jobs / clients * clients).into(), none: Notify::new() });
            let started = Instant::now();
            let worker = WorkerBuilder::new(format!("worker-{}-{clients}", std::process::id()))
                .backend($new.poll_with_interval(POLL))
                .data(left.clone())
                .concurrency(clients)
                .build(nothing);
            let worker = tokio::spawn(worker.run());
            left.none.notified().await;
            let rate = (jobs / clients * clients) as f64 / started.elapsed().as_secs_f64();
            rates.insert(format!("claimed and finished by {clients}"), rate.into());
            // Finished jobs are acknowledged.
            tokio::time::sleep(Duration::from_secs(1)).await;
            worker.abort();
        }
        println!("{}", serde_json::Value::Object(rates));
    }};
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("DATABASE_URL")?;
    let jobs = std::env::args().nth(1).ok_or("usage: bench-apalis JOBS")?.parse()?;
    if url.starts_with("sqlite:") {
        let pool = SqlitePool::connect(&url).await?;
        SqliteStorage::setup(&pool).await?;
        measure!(SqliteStorage::<usize>::new(&pool), jobs);
    } else {
        let pool = PgPool::connect(&url).await?;
        PostgresStorage::setup(&pool).await?;
        measure!(PostgresStorage::<usize>::new(&pool), jobs);
    }
    Ok(())
}
