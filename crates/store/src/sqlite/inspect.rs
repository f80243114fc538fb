//! Checks a file before it becomes the store of a project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_tasks::{StoreError, StoreResult};

use super::{connect_options, file, mounts, pool};
use crate::StoreSettings;
use crate::error::{StoreLocation, damaged};
use crate::last_break::LastBreak;
use crate::pools::{DatabasePools, Pools, read_only};
use crate::schema;
use crate::sql::{args, sql};

/// What a checked store contains.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// The root directories of its projects.
    pub roots: Vec<PathBuf>,
    /// The number of tasks that a worker would run.
    pub open_tasks: u64,
}

/// Checks every page and the whole schema of a SQLite store, without migrating it. Afterwards the write-ahead log
/// is part of the file.
///
/// # Errors
///
/// Returns an error if the file is not a sound store of this or an earlier version.
pub async fn inspect(path: &Path) -> StoreResult<Inspection> {
    let location = StoreLocation(path.display().to_string());
    mounts::check(path)?;
    if !path.is_file() {
        let missing = format!("{} does not exist", location.0);
        return Err(StoreError::Unavailable(missing));
    }
    file::prepare(path)?;
    let settings = StoreSettings::default();
    let connection = pool(1, &settings, connect_options(path));
    let pools = Pools {
        kind: DatabasePools::Sqlite(Err(read_only(&location)), connection.clone()),
        last_break: LastBreak::default(),
        file_signal: None,
        location,
        clock_skew: settings.clock_skew.clone(),
        lease_clock: Arc::clone(&settings.lease_clock),
        migrations: settings.migrations.clone(),
    };
    let inspection = read(&pools).await;
    // The last connection to a file writes the log back.
    connection.close().await;
    inspection
}

async fn read(pools: &Pools) -> StoreResult<Inspection> {
    let mut db = pools.reader().await?;
    let location = &pools.location.0;
    if schema::check_known(&mut db, pools).await?.is_none() {
        return Err(damaged(location, "it has no tables"));
    }
    let checked = sql!("PRAGMA quick_check(1)");
    let problem = match db.fetch_optional(checked, args![]).await? {
        Some(row) => row.text("quick_check")?,
        None => String::new(),
    };
    if problem != "ok" {
        return Err(damaged(location, &problem));
    }
    let roots = db
        .fetch_all(sql!("SELECT root FROM project"), args![])
        .await?;
    let roots = roots.iter().map(|row| Ok(row.text("root")?.into()));
    let open = sql!(
        "SELECT count(*) AS n FROM task WHERE status IN ('pending', 'in_progress', 'blocked')"
    );
    let open = match db.fetch_optional(open, args![]).await? {
        Some(row) => row.int_as("n")?,
        None => 0,
    };
    Ok(Inspection {
        roots: roots.collect::<StoreResult<_>>()?,
        open_tasks: open,
    })
}
