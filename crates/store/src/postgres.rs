//! PostgreSQL, for workers on many machines.

use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Postgres};
use windlass_core::task::{StoreError, StoreResult};

use crate::StoreSettings;
use crate::error::{self, StoreLocation};
use crate::pools::{DatabasePools, Pools};
use crate::store::SqlStore;

/// The lanes, each with a connection of its own.
const WRITE_QUEUES: u32 = 4;
/// The connections for reading; one of them listens.
const MAX_READERS: u32 = 5;

/// Opens the store in a PostgreSQL database, under the schema `windlass`.
pub(crate) async fn open(url: &str, settings: StoreSettings) -> StoreResult<SqlStore> {
    let refused = |error: sqlx::Error| {
        // The address may hold a password: the complaint is told, the address is not.
        StoreError::Unavailable(format!(
            "the address of the store is not understood: {error}; expected postgres://user@host/database"
        ))
    };
    let options = PgConnectOptions::from_str(url)
        .map_err(refused)?
        .application_name("windlass")
        .options([
            ("search_path", "windlass"),
            ("lock_timeout", "5s"),
            ("statement_timeout", "15s"),
            ("idle_in_transaction_session_timeout", "30s"),
        ])
        .disable_statement_logging();
    let place = StoreLocation(format!(
        "PostgreSQL at {}/{}",
        options.get_socket().map_or_else(
            || format!("{}:{}", options.get_host(), options.get_port()),
            |socket| socket.display().to_string()
        ),
        options.get_database().unwrap_or_default()
    ));
    // A pool would try again until patience ends; whoever opens a store that is not there wants to know at once.
    let first = tokio::time::timeout(settings.open_timeout, options.connect()).await;
    match first {
        Ok(Ok(link)) => drop(link),
        Ok(Err(error)) => return Err(error::classify(&place, error).error),
        Err(_) => {
            let what = "connecting to PostgreSQL";
            let after = settings.open_timeout;
            return Err(StoreError::Timeout { what, after });
        }
    }
    let pools = Pools {
        kind: DatabasePools::Postgres(
            pool(WRITE_QUEUES, settings.open_timeout, &options),
            pool(MAX_READERS, settings.open_timeout, &options),
        ),
        place,
        leap: settings.leap.clone(),
    };
    SqlStore::start(pools, WRITE_QUEUES, settings).await
}

fn pool(connections: u32, patience: Duration, options: &PgConnectOptions) -> sqlx::Pool<Postgres> {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(patience)
        .connect_lazy_with(options.clone())
}
