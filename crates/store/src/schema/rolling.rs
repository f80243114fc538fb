//! Programs of several versions that use one store: which may go on after a migration, and whom a migration waits for.
//!
//! The store has the oldest schema version whose programs may use it. A program checks it when it opens the store, and again
//! in every transaction that writes. A migration that raises it begins only when no active worker is older.

use serde::Serialize;
use windlass_tasks::{StoreError, StoreResult, WorkerId};

use super::{CREATE_META, LOCK, SchemaObjects, check, migrate_from, newer};
use crate::connection::DbConnection;
use crate::error::StoreLocation;
use crate::pools::Pools;
use crate::sql::{Row, Sql, args, sql};

/// The first version that has the registry of workers, and the first whose workers register with their schema version.
const FIRST_WITH_WORKERS: i64 = 16;
const FIRST_WITH_VERSIONS: i64 = 18;
/// How many workers an error names.
const MAX_NAMED: usize = 3;

/// What a migration does about active workers that could not go on after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MigrationMode {
    /// It does not begin.
    UnlessUsed,
    /// It does not begin, and asks them to finish what they run and to end.
    Drain,
    /// It begins immediately. Their tasks are taken over when their leases expire.
    Force,
}

/// A worker that could not go on after a migration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BlockedBy {
    /// The number of the worker.
    pub id: WorkerId,
    /// Its name: the machine and the process.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// The schema version of its program; 0 for a program from before workers had one.
    pub schema_version: i64,
    /// It has been asked to finish what it runs and to end.
    pub draining: bool,
    /// How many tasks it runs.
    pub running: u32,
}

/// What it takes to bring a store to the newest version that a program knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MigrationPlan {
    /// The version of the store before the migration; 0 if it had no tables.
    pub from: i64,
    /// The newest version that this program knows.
    pub to: i64,
    /// The oldest schema version whose programs may use the store afterwards.
    pub oldest: i64,
    /// The active workers that could not go on.
    pub blocked_by: Vec<BlockedBy>,
    /// The store has at least the newest version that this program knows.
    pub migrated: bool,
}

impl MigrationPlan {
    fn done(version: i64, pools: &Pools) -> Self {
        Self {
            from: version,
            to: pools.migrations.newest().max(version),
            oldest: 0,
            blocked_by: Vec::new(),
            migrated: true,
        }
    }

    /// Refuses a store that was not migrated, and names the workers that have to end first.
    pub(super) fn check(&self, location: &StoreLocation) -> StoreResult<()> {
        if self.migrated {
            return Ok(());
        }
        let named = self.blocked_by.iter().take(MAX_NAMED);
        let named: Vec<String> = named
            .map(|worker| format!("{} ({})", worker.name, worker.version))
            .collect();
        let (verb, more) = match self.blocked_by.len() {
            1 => ("an active worker", String::new()),
            count if count > MAX_NAMED => {
                ("active workers", format!(" and {} more", count - MAX_NAMED))
            }
            _ => ("active workers", String::new()),
        };
        Err(StoreError::Refused(format!(
            "{} has to be migrated from schema version {} to {}, which {verb} cannot use: {}{more}; \
             stop them, or run `windlass store migrate`, which drains them and waits",
            location.0,
            self.from,
            self.to,
            named.join(", ")
        )))
    }
}

/// Returns what a migration would do, without changing anything.
pub(crate) async fn read_plan(pools: &Pools) -> StoreResult<MigrationPlan> {
    let mut db = pools.writer().await.map_err(|failed| failed.error)?;
    pools.begin_migration(&mut db).await?;
    let plan = plan(&mut db, pools).await;
    if db.rollback().await.is_err() {
        db.close().await;
    }
    plan
}

/// Brings the store to the newest version, unless the mode forbids it.
pub(crate) async fn migrate_with(pools: &Pools, mode: MigrationMode) -> StoreResult<MigrationPlan> {
    let mut db = pools.writer().await.map_err(|failed| failed.error)?;
    pools.begin_migration(&mut db).await?;
    let migrated = match migrate(&mut db, pools, mode).await {
        Ok(plan) => db.commit().await.map(|()| plan),
        error => error,
    };
    if migrated.is_err() && db.rollback().await.is_err() {
        db.close().await;
    }
    migrated
}

async fn migrate(
    db: &mut DbConnection,
    pools: &Pools,
    mode: MigrationMode,
) -> StoreResult<MigrationPlan> {
    const DRAIN: Sql = sql!("UPDATE worker SET drain = 1 WHERE id = $1");
    let mut plan = plan(db, pools).await?;
    if plan.migrated {
        return Ok(plan);
    }
    if mode != MigrationMode::Force && !plan.blocked_by.is_empty() {
        if mode == MigrationMode::Drain {
            for worker in &mut plan.blocked_by {
                db.execute(DRAIN, args![worker.id]).await?;
                worker.draining = true;
            }
        }
        return Ok(plan);
    }
    db.execute_batch(CREATE_META).await?;
    migrate_from(db, pools, plan.from).await?;
    plan.migrated = true;
    Ok(plan)
}

/// Finds out what a migration needs. The caller's transaction then keeps writers of other programs away, if they could not go on.
async fn plan(db: &mut DbConnection, pools: &Pools) -> StoreResult<MigrationPlan> {
    // A transaction that writes reads the table at its beginning: it ends before this lock is granted, or it sees the new limit.
    const LOCK_WRITERS: Sql = Sql {
        sqlite: "SELECT 1 AS n",
        postgres: "LOCK TABLE counter IN ACCESS EXCLUSIVE MODE",
    };
    db.fetch_all(LOCK, args![]).await?;
    // Another process may have migrated in the meantime.
    let from = check(db, pools).await?.unwrap_or(0);
    let to = pools.migrations.newest();
    if from >= to {
        return Ok(MigrationPlan::done(from, pools));
    }
    let oldest = pools.migrations.oldest_after(from, to);
    let mut blocked_by = Vec::new();
    if from > 0 && oldest > from {
        db.execute_batch(LOCK_WRITERS).await?;
    }
    if from >= FIRST_WITH_WORKERS {
        blocked_by = active_workers(db, from).await?;
        blocked_by.retain(|worker| worker.schema_version.max(implied(from)) < oldest);
    }
    Ok(MigrationPlan {
        from,
        to,
        oldest,
        blocked_by,
        migrated: false,
    })
}

/// The schema version of workers that register without one: they could open the store only with this version.
fn implied(version: i64) -> i64 {
    match version {
        version if version < FIRST_WITH_VERSIONS => version,
        _ => 0,
    }
}

/// Reads the workers that have renewed their entries in time.
async fn active_workers(db: &mut DbConnection, version: i64) -> StoreResult<Vec<BlockedBy>> {
    macro_rules! active {
        ($schema:literal) => {
            sql!(
                "SELECT id, name, version, ",
                $schema,
                " AS schema_version, drain, running FROM worker ",
                "WHERE seen_at + 3 * interval_ms >= $1 ORDER BY machine, id LIMIT 10000"
            )
        };
    }
    const WITHOUT_VERSIONS: Sql = active!("CAST(0 AS BIGINT)");
    const WITH_VERSIONS: Sql = active!("schema_version");
    let active = match version {
        version if version < FIRST_WITH_VERSIONS => WITHOUT_VERSIONS,
        _ => WITH_VERSIONS,
    };
    let rows = db.fetch_all(active, args![db.now()]).await?;
    rows.iter().map(blocked_by).collect()
}

fn blocked_by(row: &Row) -> StoreResult<BlockedBy> {
    Ok(BlockedBy {
        id: row.id("id")?,
        name: row.text("name")?,
        version: row.text("version")?,
        schema_version: row.int("schema_version")?,
        draining: row.flag("drain")?,
        running: row.int_as("running")?,
    })
}

/// Records the oldest schema version whose programs may use the store. It never falls.
pub(super) async fn raise_oldest(db: &mut DbConnection, oldest: i64) -> StoreResult<()> {
    const RAISE: Sql =
        sql!("UPDATE counter SET value = $1 WHERE name = 'oldest_program' AND value < $1");
    db.execute(RAISE, args![oldest]).await
}

/// Refuses a newer store that does not say that this program may use it.
pub(super) async fn check_usable(
    db: &mut DbConnection,
    pools: &Pools,
    version: i64,
    objects: &SchemaObjects,
) -> StoreResult<()> {
    const OLDEST: Sql = sql!("SELECT value AS n FROM counter WHERE name = 'oldest_program'");
    let unusable = || StoreError::Outdated(newer(pools, version));
    if !objects.has_table("counter") {
        return Err(unusable());
    }
    let row = db.fetch_optional(OLDEST, args![]).await?;
    match row.map(|row| row.int("n")).transpose()? {
        Some(oldest) if oldest <= pools.migrations.newest() => Ok(()),
        _ => Err(unusable()),
    }
}
