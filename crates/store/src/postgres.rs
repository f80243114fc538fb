//! PostgreSQL, for workers on many machines.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection as _, Postgres};
use windlass_tasks::{StoreError, StoreResult};

use crate::StoreSettings;
use crate::error::{self, StoreLocation};
use crate::pools::{DatabasePools, MAX_UNTESTED, Pools};
use crate::store::SqlStore;

/// Maximum number of reader connections; one of them listens for notifications.
const MAX_READERS: u32 = 5;

/// Opens the store in a PostgreSQL database, under the schema `windlass`.
pub(crate) async fn open(url: &str, settings: StoreSettings) -> StoreResult<SqlStore> {
    let pools = connect(url, &settings).await?;
    SqlStore::start(pools, settings).await
}

/// Connects to a PostgreSQL database, whatever it contains.
pub(crate) async fn connect(url: &str, settings: &StoreSettings) -> StoreResult<Pools> {
    let invalid_url = |error: sqlx::Error| {
        // The URL may contain a password, so it is not part of the message.
        StoreError::Unavailable(format!(
            "invalid store URL: {error}; expected postgres://user@host/database"
        ))
    };
    let schema_version = settings.migrations.newest().to_string();
    let options = PgConnectOptions::from_str(url)
        .map_err(invalid_url)?
        .application_name("windlass")
        .options([
            ("search_path", "windlass"),
            // Statements compare it with the oldest program that may use the store.
            ("windlass.schema_version", schema_version.as_str()),
            ("lock_timeout", "5s"),
            ("statement_timeout", "15s"),
            ("idle_in_transaction_session_timeout", "30s"),
        ])
        .disable_statement_logging();
    let location = StoreLocation(format!(
        "PostgreSQL at {}/{}",
        options.get_socket().map_or_else(
            || format!("{}:{}", options.get_host(), options.get_port()),
            |socket| socket.display().to_string()
        ),
        options.get_database().unwrap_or_default()
    ));
    // A pool would retry until its timeout. A direct connection reports an unreachable server immediately.
    let first = tokio::time::timeout(settings.open_timeout, options.connect()).await;
    match first {
        Ok(Ok(connection)) => drop(connection),
        Ok(Err(error)) => return Err(error::classify(&location, error).error),
        Err(_) => {
            let what = "connecting to PostgreSQL";
            let after = settings.open_timeout;
            return Err(StoreError::Timeout { what, after });
        }
    }
    // The number of waiting tasks changes faster than the statistics of the planner. So it must neither plan each
    // time nor sort where an index has the order.
    let writing = options.clone().options([
        ("plan_cache_mode", "force_generic_plan"),
        ("enable_seqscan", "off"),
        ("enable_sort", "off"),
        ("jit", "off"),
    ]);
    Ok(Pools {
        kind: DatabasePools::Postgres(
            pool(1, settings.open_timeout, &writing),
            pool(MAX_READERS, settings.open_timeout, &options),
        ),
        file_signal: None,
        location,
        clock_skew: settings.clock_skew.clone(),
        lease_clock: Arc::clone(&settings.lease_clock),
        migrations: settings.migrations.clone(),
    })
}

fn pool(connections: u32, timeout: Duration, options: &PgConnectOptions) -> sqlx::Pool<Postgres> {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(timeout)
        // Each test is a round trip. A connection in use fails by itself.
        .test_before_acquire(false)
        .before_acquire(|connection, state| {
            Box::pin(async move {
                if state.idle_for > MAX_UNTESTED {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_lazy_with(options.clone())
}
