//! Maintenance of a store as a whole: backup, restore, check and prune.
//!
//! A backup is a text that is the same for both databases. It is read in one snapshot, while others write, and written
//! in one transaction, whose result is compared with the backup before it is committed.

mod check;
mod dump;
mod format;
mod load;
mod prune;

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use windlass_tasks::{StoreError, StoreResult};

use crate::StoreSettings;
use crate::pools::Pools;
use load::BackupLines;

pub use check::Problem;
pub use format::{StoreSummary, TableSummary};
pub use prune::{Pruned, StoreRetention};

/// Writes the whole store to a new file, which only its owner can read. Others may write to the store meanwhile.
///
/// # Errors
///
/// Fails if the file exists, or if the store cannot be read. Then there is no file.
pub async fn backup(url: &str, file: &Path) -> StoreResult<StoreSummary> {
    let failed = |error: std::io::Error| file_error(file, &error);
    let pools = crate::open_pools(url, &StoreSettings::default()).await?;
    let part = file.with_added_extension("part");
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(&part);
    let mut writer = BufWriter::new(opened.map_err(|error| file_error(&part, &error))?);
    let mut sink = |line: &str| {
        let written = writer.write_all(line.as_bytes());
        written
            .and_then(|()| writer.write_all(b"\n"))
            .map_err(failed)
    };
    let dumped = dump::dump_store(&pools, &mut sink).await;
    pools.close().await;
    let finished = dumped.and_then(|summary| {
        writer.flush().map_err(failed)?;
        writer.get_ref().sync_all().map_err(failed)?;
        // Unlike a rename, this fails if the file exists.
        std::fs::hard_link(&part, file).map_err(failed)?;
        sync_dir(file).map_err(failed)?;
        Ok(summary)
    });
    let _ = std::fs::remove_file(&part);
    finished
}

fn sync_dir(file: &Path) -> std::io::Result<()> {
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty());
    File::open(dir.unwrap_or(Path::new(".")))?.sync_all()
}

/// Writes a backup into a store that has no data, in one transaction.
///
/// # Errors
///
/// Fails if the store is not empty, or if the backup is incomplete or not valid. Then the store is as it was.
pub async fn restore(url: &str, file: &Path) -> StoreResult<StoreSummary> {
    let opened = File::open(file).map_err(|error| file_error(file, &error))?;
    let pools = crate::open_pools(url, &StoreSettings::default()).await?;
    let loaded = load::load_store(&pools, BackupLines::new(BufReader::new(opened))).await;
    pools.close().await;
    loaded
}

/// Returns the number of rows of each table, with a digest of their contents.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub async fn summarize(url: &str) -> StoreResult<StoreSummary> {
    let pools = crate::open_pools(url, &StoreSettings::default()).await?;
    let summary = dump::dump_store(&pools, &mut |_| Ok(())).await;
    pools.close().await;
    summary
}

/// Checks every page of a file, all references between records, and the rules that tasks, attempts and events follow.
/// Returns what is wrong.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub async fn check(url: &str) -> StoreResult<Vec<Problem>> {
    let pools = opened(url).await?;
    let problems = check::find_problems(&pools).await;
    pools.close().await;
    problems
}

/// Removes what is older than its retention, and returns how many records that is.
///
/// # Errors
///
/// Fails if the store cannot be written.
pub async fn prune(url: &str, retention: &StoreRetention) -> StoreResult<Pruned> {
    let pools = opened(url).await?;
    let pruned = prune::remove_old(&pools, retention).await;
    pools.close().await;
    pruned
}

/// Opens a store and brings it to the newest version.
async fn opened(url: &str) -> StoreResult<Pools> {
    let pools = crate::open_pools(url, &StoreSettings::default()).await?;
    crate::schema::migrate_if_needed(&pools).await?;
    Ok(pools)
}

fn file_error(file: &Path, error: &std::io::Error) -> StoreError {
    let file = file.display();
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            StoreError::Full(format!("no space left for {file}"))
        }
        std::io::ErrorKind::AlreadyExists => {
            StoreError::Refused(format!("{file} exists: choose another file"))
        }
        _ => StoreError::Refused(format!("{file}: {error}")),
    }
}
