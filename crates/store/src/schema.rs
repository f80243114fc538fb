//! Database schema: created and migrated when a store is opened.

use windlass_tasks::{StoreError, StoreResult};

use crate::connection::DbConnection;
use crate::error::StoreLocation;
use crate::pools::{COMMIT, Pools, ROLLBACK};
use crate::sql::{Sql, args, sql};

/// All released migrations, in order. A released migration never changes.
const MIGRATIONS: &[Sql] = &[
    Sql {
        sqlite: include_str!("../migrations/sqlite/0001_tasks.sql"),
        postgres: include_str!("../migrations/postgres/0001_tasks.sql"),
    },
    Sql {
        sqlite: include_str!("../migrations/sqlite/0002_attempt_error.sql"),
        postgres: include_str!("../migrations/postgres/0002_attempt_error.sql"),
    },
    Sql {
        sqlite: include_str!("../migrations/sqlite/0003_access.sql"),
        postgres: include_str!("../migrations/postgres/0003_access.sql"),
    },
];

/// Counts the version tables: zero if this is not a Windlass store.
const IS_OURS: Sql = Sql {
    sqlite: "SELECT count(*) AS n FROM sqlite_master WHERE name = 'windlass_schema'",
    postgres: "SELECT count(*) AS n FROM information_schema.tables \
               WHERE table_schema = 'windlass' AND table_name = 'windlass_schema'",
};

/// Counts foreign tables. A PostgreSQL database may be shared with other programs, because the tables of
/// Windlass have their own schema there.
const HAS_OTHERS: Sql = Sql {
    sqlite: "SELECT count(*) AS n FROM sqlite_master",
    postgres: "SELECT CAST(0 AS BIGINT) AS n",
};

/// One process migrates; the others wait.
const LOCK: Sql = Sql {
    sqlite: "SELECT 1 AS n",
    postgres: "SELECT CAST(pg_advisory_xact_lock(8241960125) AS TEXT) AS n",
};

const CREATE_META: Sql = Sql {
    sqlite: "CREATE TABLE IF NOT EXISTS windlass_schema (version BIGINT NOT NULL PRIMARY KEY, at BIGINT NOT NULL)",
    postgres: "CREATE SCHEMA IF NOT EXISTS windlass; \
               CREATE TABLE IF NOT EXISTS windlass.windlass_schema \
               (version BIGINT NOT NULL PRIMARY KEY, at BIGINT NOT NULL)",
};

const VERSION: Sql = sql!("SELECT coalesce(max(version), 0) AS n FROM windlass_schema");

/// Creates or migrates the tables. Rejects schemas of newer versions and databases of other programs.
pub(crate) async fn migrate_if_needed(pools: &Pools) -> StoreResult<()> {
    let mut reader = pools.reader().await?;
    let found = version(&mut reader).await?;
    drop(reader);
    if is_current(found, &pools.location)? {
        return Ok(());
    }
    let mut db = pools.writer().await.map_err(|failed| failed.error)?;
    pools.begin(&mut db, true).await?;
    match migrate(&mut db, &pools.location).await {
        Ok(()) => db.execute_batch(COMMIT).await.map(drop),
        Err(error) => {
            if db.execute_batch(ROLLBACK).await.is_err() {
                db.close().await;
            }
            Err(error)
        }
    }
}

/// Returns `true` if no migration is needed.
fn is_current(found: Option<i64>, location: &StoreLocation) -> StoreResult<bool> {
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    match found {
        Some(version) if version > known => Err(StoreError::Unavailable(format!(
            "{} was written by a newer Windlass (schema version {version}, this one supports {known}): \
             use the newer version",
            location.0
        ))),
        Some(version) => Ok(version == known),
        None => Ok(false),
    }
}

/// Returns the schema version, or `None` if there are no tables.
async fn version(db: &mut DbConnection) -> StoreResult<Option<i64>> {
    if number(db, IS_OURS).await? == 0 {
        return Ok(None);
    }
    number(db, VERSION).await.map(Some)
}

async fn number(db: &mut DbConnection, sql: Sql) -> StoreResult<i64> {
    match db.fetch_optional(sql, args![]).await? {
        Some(row) => row.int("n"),
        None => Ok(0),
    }
}

async fn migrate(db: &mut DbConnection, location: &StoreLocation) -> StoreResult<()> {
    db.fetch_all(LOCK, args![]).await?;
    let found = version(db).await?;
    if is_current(found, location)? {
        return Ok(());
    }
    if found.is_none() && number(db, HAS_OTHERS).await? > 0 {
        return Err(StoreError::Unavailable(format!(
            "{} is a database of another program: choose another file",
            location.0
        )));
    }
    db.execute_batch(CREATE_META).await?;
    let applied = usize::try_from(found.unwrap_or(0)).unwrap_or(0);
    for (index, migration) in MIGRATIONS.iter().enumerate().skip(applied) {
        db.execute_batch(*migration).await?;
        let version = i64::try_from(index + 1).unwrap_or(i64::MAX);
        let now = db.now();
        let record = sql!("INSERT INTO windlass_schema (version, at) VALUES ($1, $2)");
        db.execute(record, args![version, now]).await?;
    }
    Ok(())
}
