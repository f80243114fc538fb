//! The tables, made and brought up to date when a store is opened.

use windlass_core::task::{StoreError, StoreResult};

use crate::connection::DbConnection;
use crate::error::StoreLocation;
use crate::pools::{COMMIT, Pools, ROLLBACK};
use crate::sql::{Sql, args, sql};

/// Every released step, in order. A step that was released never changes.
const MIGRATIONS: &[Sql] = &[
    Sql {
        sqlite: include_str!("../migrations/sqlite/0001_tasks.sql"),
        postgres: include_str!("../migrations/postgres/0001_tasks.sql"),
    },
    Sql {
        sqlite: include_str!("../migrations/sqlite/0002_attempt_error.sql"),
        postgres: include_str!("../migrations/postgres/0002_attempt_error.sql"),
    },
];

const IS_OURS: Sql = Sql {
    sqlite: "SELECT count(*) AS n FROM sqlite_master WHERE name = 'windlass_schema'",
    postgres: "SELECT count(*) AS n FROM information_schema.tables \
               WHERE table_schema = 'windlass' AND table_name = 'windlass_schema'",
};

/// In PostgreSQL a database may be shared with others: there the tables have a schema of their own.
const HAS_OTHERS: Sql = Sql {
    sqlite: "SELECT count(*) AS n FROM sqlite_master",
    postgres: "SELECT CAST(0 AS BIGINT) AS n",
};

/// One process brings the tables up to date; others wait.
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

/// Makes the tables, or brings them up to date. Those of a newer version are refused, and so are those of others.
pub(crate) async fn migrate_if_needed(pools: &Pools) -> StoreResult<()> {
    let mut reader = pools.reader().await?;
    let found = version(&mut reader).await?;
    drop(reader);
    if is_current(found, &pools.place)? {
        return Ok(());
    }
    let mut session = pools.writer().await.map_err(|broken| broken.error)?;
    pools.begin(&mut session, true).await?;
    match migrate(&mut session, &pools.place).await {
        Ok(()) => session.execute_batch(COMMIT).await.map(drop),
        Err(error) => {
            if session.execute_batch(ROLLBACK).await.is_err() {
                session.close().await;
            }
            Err(error)
        }
    }
}

/// Whether there is nothing to do.
fn is_current(found: Option<i64>, place: &StoreLocation) -> StoreResult<bool> {
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    match found {
        Some(version) if version > known => Err(StoreError::Unavailable(format!(
            "{} was written by a newer Windlass (its tables have version {version}, this one knows {known}): \
             use the newer one",
            place.0
        ))),
        Some(version) => Ok(version == known),
        None => Ok(false),
    }
}

/// The version of the tables; nothing where there are none.
async fn version(s: &mut DbConnection) -> StoreResult<Option<i64>> {
    if number(s, IS_OURS).await? == 0 {
        return Ok(None);
    }
    number(s, VERSION).await.map(Some)
}

async fn number(s: &mut DbConnection, sql: Sql) -> StoreResult<i64> {
    match s.fetch_optional(sql, args![]).await? {
        Some(row) => row.int("n"),
        None => Ok(0),
    }
}

async fn migrate(s: &mut DbConnection, place: &StoreLocation) -> StoreResult<()> {
    s.fetch_all(LOCK, args![]).await?;
    let found = version(s).await?;
    if is_current(found, place)? {
        return Ok(());
    }
    if found.is_none() && number(s, HAS_OTHERS).await? > 0 {
        return Err(StoreError::Unavailable(format!(
            "{} is a database of another program: name another file",
            place.0
        )));
    }
    s.execute_batch(CREATE_META).await?;
    let done = usize::try_from(found.unwrap_or(0)).unwrap_or(0);
    for (at, step) in MIGRATIONS.iter().enumerate().skip(done) {
        s.execute_batch(*step).await?;
        let version = i64::try_from(at + 1).unwrap_or(i64::MAX);
        let now = s.now();
        let note = sql!("INSERT INTO windlass_schema (version, at) VALUES ($1, $2)");
        s.execute(note, args![version, now]).await?;
    }
    Ok(())
}
