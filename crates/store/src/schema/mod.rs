//! Database schema: created, checked and migrated when a store is opened.
//!
//! A store is used only if its whole schema is Windlass's own. A foreign trigger or view could add tasks, answer
//! permission requests or change what a read returns.

mod normalize;
mod objects;
mod tables;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection, Row as _};
use windlass_tasks::{StoreError, StoreResult};

use crate::connection::DbConnection;
use crate::error::{self, StoreLocation};
use crate::pools::{DatabasePools, Pools};
use crate::sql::{Sql, args, sql};
use objects::{OBJECTS, SchemaObjects};
pub(crate) use tables::{ColumnSpec, TableSpec, tables};

/// All released migrations, in order. A released migration never changes.
const MIGRATIONS: &[Sql] = &[
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0001_tasks.sql"),
        postgres: include_str!("../../migrations/postgres/0001_tasks.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0002_attempt_error.sql"),
        postgres: include_str!("../../migrations/postgres/0002_attempt_error.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0003_leases.sql"),
        postgres: include_str!("../../migrations/postgres/0003_leases.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0004_access.sql"),
        postgres: include_str!("../../migrations/postgres/0004_access.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0005_proof.sql"),
        postgres: include_str!("../../migrations/postgres/0005_proof.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0006_steering.sql"),
        postgres: include_str!("../../migrations/postgres/0006_steering.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0007_publishing.sql"),
        postgres: include_str!("../../migrations/postgres/0007_publishing.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0008_landings.sql"),
        postgres: include_str!("../../migrations/postgres/0008_landings.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0009_reviews.sql"),
        postgres: include_str!("../../migrations/postgres/0009_reviews.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0010_stack.sql"),
        postgres: include_str!("../../migrations/postgres/0010_stack.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0011_agent_settings.sql"),
        postgres: include_str!("../../migrations/postgres/0011_agent_settings.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0012_depended_on.sql"),
        postgres: include_str!("../../migrations/postgres/0012_depended_on.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0013_model_call.sql"),
        postgres: include_str!("../../migrations/postgres/0013_model_call.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0014_checkouts.sql"),
        postgres: include_str!("../../migrations/postgres/0014_checkouts.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0015_audit.sql"),
        postgres: include_str!("../../migrations/postgres/0015_audit.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0016_workers.sql"),
        postgres: include_str!("../../migrations/postgres/0016_workers.sql"),
    },
    Sql {
        sqlite: include_str!("../../migrations/sqlite/0017_account_limit.sql"),
        postgres: include_str!("../../migrations/postgres/0017_account_limit.sql"),
    },
];

/// The objects that the newest schema has in PostgreSQL. `tests/suite/real_postgres.rs` compares them with the
/// migrations.
const POSTGRES_OBJECTS: &str = include_str!("../../migrations/postgres/objects.tsv");

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

/// Creates or migrates the tables. Rejects schemas of newer versions, databases of other programs and changed
/// schemas.
pub(crate) async fn migrate_if_needed(pools: &Pools) -> StoreResult<()> {
    let mut reader = pools.reader().await?;
    let found = check(&mut reader, pools).await?;
    drop(reader);
    if found == Some(newest()) {
        return Ok(());
    }
    let mut db = pools.writer().await.map_err(|failed| failed.error)?;
    pools.begin(&mut db, true).await?;
    match migrate(&mut db, pools).await {
        Ok(()) => db.commit().await,
        Err(error) => {
            if db.rollback().await.is_err() {
                db.close().await;
            }
            Err(error)
        }
    }
}

/// Returns the newest version.
fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Checks the whole schema and returns its version, or `None` if there are no tables.
pub(crate) async fn check(db: &mut DbConnection, pools: &Pools) -> StoreResult<Option<i64>> {
    let location = &pools.location;
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
        let meta = sqlite_objects(0).await?;
        objects
            .table(META)
            .check_equal(&meta.table(META), location)?;
    }
    let version = version(db).await?;
    if version > newest() {
        return Err(StoreError::Unavailable(format!(
            "{} was written by a newer Windlass (schema version {version}, this one supports {}): \
             use the newer version",
            location.0,
            newest()
        )));
    }
    if is_sqlite {
        objects.check_equal(&sqlite_objects(version).await?, location)?;
    } else if version == newest() {
        // An older version is compared after its migration.
        objects.check_equal(&SchemaObjects::parse(POSTGRES_OBJECTS), location)?;
    }
    Ok(Some(version))
}

async fn version(db: &mut DbConnection) -> StoreResult<i64> {
    match db.fetch_optional(VERSION, args![]).await? {
        Some(row) => row.int("n"),
        None => Ok(0),
    }
}

async fn migrate(db: &mut DbConnection, pools: &Pools) -> StoreResult<()> {
    db.fetch_all(LOCK, args![]).await?;
    // Another process may have migrated in the meantime.
    let found = check(db, pools).await?;
    if found == Some(newest()) {
        return Ok(());
    }
    db.execute_batch(CREATE_META).await?;
    migrate_from(db, pools, found.unwrap_or(0)).await
}

/// Brings the tables from this version to the newest one.
pub(crate) async fn migrate_from(
    db: &mut DbConnection,
    pools: &Pools,
    version: i64,
) -> StoreResult<()> {
    apply(db, version, newest()).await?;
    check(db, pools).await.map(drop)
}

/// Creates the tables of a version in a database without tables. One that has tables must have this version.
pub(crate) async fn create_empty(
    db: &mut DbConnection,
    pools: &Pools,
    version: i64,
) -> StoreResult<()> {
    if !(1..=newest()).contains(&version) {
        return Err(StoreError::Refused(format!(
            "the backup has schema version {version}, this Windlass supports 1 to {}",
            newest()
        )));
    }
    db.fetch_all(LOCK, args![]).await?;
    match check(db, pools).await? {
        None => {
            db.execute_batch(CREATE_META).await?;
            apply(db, 0, version).await
        }
        Some(found) if found == version => Ok(()),
        Some(found) => Err(StoreError::Refused(format!(
            "{} has schema version {found}, the backup {version}: restore it into a database without tables",
            pools.location.0
        ))),
    }
}

/// Applies the migrations after one version, up to another one.
async fn apply(db: &mut DbConnection, after: i64, last: i64) -> StoreResult<()> {
    let versions = (1..).zip(MIGRATIONS);
    for (version, migration) in versions.filter(|(version, _)| (after + 1..=last).contains(version))
    {
        db.execute_batch(*migration).await?;
        let now = db.now();
        let record = sql!("INSERT INTO windlass_schema (version, at) VALUES ($1, $2)");
        db.execute(record, args![version, now]).await?;
    }
    Ok(())
}

/// Returns the objects of a SQLite file of this version, by creating one in memory.
async fn sqlite_objects(version: i64) -> StoreResult<SchemaObjects> {
    let location = StoreLocation("the schema in memory".to_owned());
    let failed = |error| error::classify(&location, error).error;
    let mut memory = memory_schema(version).await.map_err(failed)?;
    let objects = read_objects(&mut memory).await;
    // Nothing is lost if the connection is not closed cleanly.
    let _ = memory.close().await;
    objects.map_err(failed)
}

/// Creates the tables of this version in memory.
async fn memory_schema(version: i64) -> Result<SqliteConnection, sqlx::Error> {
    let options = SqliteConnectOptions::new()
        .in_memory(true)
        .disable_statement_logging();
    let mut memory = options.connect().await?;
    let count = usize::try_from(version).unwrap_or(0);
    let migrations = MIGRATIONS.iter().take(count);
    for statements in std::iter::once(&CREATE_META).chain(migrations) {
        sqlx::raw_sql(statements.sqlite)
            .execute(&mut memory)
            .await?;
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
