//! Database schema: created, checked and migrated when a store is opened.
//!
//! A store is used only if its whole schema is Windlass's own. A foreign trigger or view could add tasks, answer
//! permission requests or change what a read returns.

mod migrations;
mod normalize;
mod objects;
mod rolling;
mod tables;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection, Row as _};
use windlass_tasks::{StoreError, StoreResult};

use crate::connection::DbConnection;
use crate::error::{self, StoreLocation};
use crate::pools::{DatabasePools, Pools};
use crate::sql::{Sql, args, sql};
pub use migrations::{Migration, Migrations};
use objects::{OBJECTS, SchemaObjects};
pub use rolling::{BlockedBy, MigrationMode, MigrationPlan};
pub(crate) use rolling::{migrate_with, read_plan};
pub(crate) use tables::{ColumnSpec, TableSpec, tables};

/// The table that contains the versions.
const META: &str = "windlass_schema";

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

/// Creates or migrates the tables. Rejects schemas that this program cannot use, databases of other programs, changed
/// schemas, and a migration that workers which use the store would not survive.
/// Returns the version, which may be a newer one that this program may use.
pub(crate) async fn migrate_if_needed(pools: &Pools) -> StoreResult<i64> {
    let mut reader = pools.reader().await?;
    let found = check(&mut reader, pools).await?;
    drop(reader);
    if let Some(version) = found.filter(|found| *found >= pools.migrations.newest()) {
        return Ok(version);
    }
    let plan = migrate_with(pools, MigrationMode::UnlessUsed).await?;
    plan.check(&pools.location)?;
    Ok(plan.to)
}

/// Checks the whole schema and returns its version, or `None` if there are no tables. A newer schema is accepted if it
/// says that this program may use it, and has everything that this program knows.
pub(crate) async fn check(db: &mut DbConnection, pools: &Pools) -> StoreResult<Option<i64>> {
    let location = &pools.location;
    let known = &pools.migrations;
    let is_sqlite = matches!(pools.kind, DatabasePools::Sqlite(..));
    let objects = SchemaObjects::read(db).await?;
    if objects.is_empty() {
        return Ok(None);
    }
    if is_sqlite && objects.table(META).is_empty() {
        return Err(StoreError::Unavailable(format!(
            "{} is a database of another program: choose another file",
            location.0
        )));
    }
    if !is_sqlite {
        objects.check_passive(location)?;
        if objects.table(META).is_empty() {
            return Ok(None);
        }
    } else {
        // The version is read only from a table that is Windlass's own.
        let meta = sqlite_objects(known, 0).await?;
        objects
            .table(META)
            .check_equal(&meta.table(META), location)?;
    }
    let version = version(db).await?;
    let wanted = if is_sqlite {
        sqlite_objects(known, version.min(known.newest())).await?
    } else {
        SchemaObjects::parse(&known.postgres_objects())
    };
    if version > known.newest() {
        // A schema that this program may not use is not compared with what it knows.
        rolling::check_usable(db, pools, version, &objects).await?;
        objects.check_extends(&wanted, location)?;
    } else if is_sqlite || version == known.newest() {
        // An older version is compared after its migration on PostgreSQL.
        objects.check_equal(&wanted, location)?;
    }
    Ok(Some(version))
}

/// Returns the version, or `None` if there are no tables. Refuses a newer schema: what copies a whole store must know all
/// of it.
pub(crate) async fn check_known(db: &mut DbConnection, pools: &Pools) -> StoreResult<Option<i64>> {
    let version = check(db, pools).await?;
    let newest = pools.migrations.newest();
    match version {
        Some(version) if version > newest => Err(StoreError::Outdated(newer(pools, version))),
        version => Ok(version),
    }
}

/// Says that a newer program is needed.
fn newer(pools: &Pools, version: i64) -> String {
    format!(
        "{} was written by a newer Windlass (schema version {version}, this one supports {}): use the newer version",
        pools.location.0,
        pools.migrations.newest()
    )
}

async fn version(db: &mut DbConnection) -> StoreResult<i64> {
    match db.fetch_optional(VERSION, args![]).await? {
        Some(row) => row.int("n"),
        None => Ok(0),
    }
}

/// Brings the tables from this version to the newest one.
pub(crate) async fn migrate_from(
    db: &mut DbConnection,
    pools: &Pools,
    version: i64,
) -> StoreResult<()> {
    let newest = pools.migrations.newest();
    apply(db, &pools.migrations, (version, newest)).await?;
    rolling::raise_oldest(db, pools.migrations.oldest_after(version, newest)).await?;
    check(db, pools).await.map(drop)
}

/// Creates the tables of a version in a database without tables. One that has tables must have this version.
pub(crate) async fn create_empty(
    db: &mut DbConnection,
    pools: &Pools,
    version: i64,
) -> StoreResult<()> {
    let known = &pools.migrations;
    if !(1..=known.newest()).contains(&version) {
        return Err(StoreError::Refused(format!(
            "the backup has schema version {version}, this Windlass supports 1 to {}",
            known.newest()
        )));
    }
    db.fetch_all(LOCK, args![]).await?;
    match check(db, pools).await? {
        None => {
            db.execute_batch(CREATE_META).await?;
            apply(db, known, (0, version)).await
        }
        Some(found) if found == version => Ok(()),
        Some(found) => Err(StoreError::Refused(format!(
            "{} has schema version {found}, the backup {version}: restore it into a database without tables",
            pools.location.0
        ))),
    }
}

/// Applies the migrations after one version, up to another one.
async fn apply(
    db: &mut DbConnection,
    known: &Migrations,
    (after, last): (i64, i64),
) -> StoreResult<()> {
    let wanted = |(version, _): &(i64, Migration)| (after + 1..=last).contains(version);
    for (version, migration) in known.versions().filter(wanted) {
        db.execute_batch(migration.sql()).await?;
        let now = db.now();
        let record = sql!("INSERT INTO windlass_schema (version, at) VALUES ($1, $2)");
        db.execute(record, args![version, now]).await?;
    }
    Ok(())
}

/// Returns the objects of a SQLite file of this version, by creating one in memory.
async fn sqlite_objects(known: &Migrations, version: i64) -> StoreResult<SchemaObjects> {
    let location = StoreLocation("the schema in memory".to_owned());
    let failed = |error| error::classify(&location, error).error;
    let mut memory = memory_schema(known, version).await.map_err(failed)?;
    let objects = read_objects(&mut memory).await;
    // Nothing is lost if the connection is not closed cleanly.
    let _ = memory.close().await;
    objects.map_err(failed)
}

/// Creates the tables of this version in memory.
async fn memory_schema(known: &Migrations, version: i64) -> Result<SqliteConnection, sqlx::Error> {
    let options = SqliteConnectOptions::new()
        .in_memory(true)
        .disable_statement_logging();
    let mut memory = options.connect().await?;
    let migrations = known.versions().take_while(|(at, _)| *at <= version);
    let statements = migrations.map(|(_, migration)| migration.sqlite);
    for statements in std::iter::once(CREATE_META.sqlite).chain(statements) {
        sqlx::raw_sql(statements).execute(&mut memory).await?;
    }
    Ok(memory)
}

async fn read_objects(memory: &mut SqliteConnection) -> Result<SchemaObjects, sqlx::Error> {
    let rows = sqlx::query(OBJECTS.sqlite).fetch_all(memory).await?;
    let object = |row: &sqlx::sqlite::SqliteRow| {
        Ok((
            row.try_get("kind")?,
            row.try_get("name")?,
            row.try_get("definition")?,
        ))
    };
    let objects: Result<Vec<_>, sqlx::Error> = rows.iter().map(object).collect();
    Ok(SchemaObjects::new(objects?))
}
