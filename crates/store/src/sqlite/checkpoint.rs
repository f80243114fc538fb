//! Checkpoints SQLite's write-ahead log (WAL) in the background.
//!
//! By default SQLite checkpoints within the commit that makes the WAL too long, and the caller of that commit
//! waits for the disk. Here a separate connection does it. The writer checkpoints only if this connection
//! cannot keep up.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use sqlx::{Row as _, Sqlite};

/// Minimum number of WAL pages for a checkpoint.
const CHECKPOINT_PAGES: i64 = 1_000;
/// Number of WAL pages at which the writer checkpoints itself: 64 MiB.
pub(super) const AUTOCHECKPOINT_PAGES: &str = "16384";
/// How often the WAL is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Checkpoints the WAL when needed, for as long as the future is polled.
pub(super) async fn run_checkpointer(pool: sqlx::Pool<Sqlite>, wal: PathBuf) {
    let mut seen = None;
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let now = modified_at(&wal);
        if now == seen {
            continue;
        }
        seen = now;
        if let Err(error) = checkpoint(&pool).await {
            tracing::debug!(%error, "the WAL was not checkpointed");
        }
    }
}

fn modified_at(wal: &PathBuf) -> Option<SystemTime> {
    std::fs::metadata(wal).ok()?.modified().ok()
}

/// Copies the WAL into the file if it is long enough. Pages that readers still need stay in the WAL.
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
