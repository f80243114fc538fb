//! Brings SQLite's log into its file, beside the work and not in its way.
//!
//! Left to itself SQLite does that within the commit that makes the log long, and whoever waits for that commit waits
//! for the disk. Here a connection of its own does it; the writer only does where this one cannot keep up.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use sqlx::{Row as _, Sqlite};

/// The pages of the log that are worth it.
const CHECKPOINT_PAGES: i64 = 1_000;
/// The pages at which the writer lends a hand, 64 MiB.
pub(super) const AUTOCHECKPOINT_PAGES: &str = "16384";
/// How often to look.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Looks after the log for as long as it is polled.
pub(super) async fn run_checkpointer(pool: sqlx::Pool<Sqlite>, log: PathBuf) {
    let mut seen = None;
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let now = modified_at(&log);
        if now == seen {
            continue;
        }
        seen = now;
        if let Err(error) = checkpoint(&pool).await {
            tracing::debug!(%error, "the log stays as long as it is");
        }
    }
}

fn modified_at(log: &PathBuf) -> Option<SystemTime> {
    std::fs::metadata(log).ok()?.modified().ok()
}

/// Copies what the log holds, where that is much, as far as nobody needs it there.
async fn checkpoint(pool: &sqlx::Pool<Sqlite>) -> sqlx::Result<()> {
    let found = sqlx::query("PRAGMA wal_checkpoint(NOOP)");
    let row = found.fetch_one(pool).await?;
    let (pages, copied): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
    if pages - copied >= CHECKPOINT_PAGES {
        let copy = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)");
        copy.fetch_one(pool).await?;
    }
    Ok(())
}
