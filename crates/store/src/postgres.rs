//! PostgreSQL, for workers on many machines.

use std::hash::{BuildHasher as _, RandomState};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sqlx::{ConnectOptions, Connection as _, Executor as _, Postgres, Row as _};
use windlass_tasks::{StoreError, StoreResult};

use crate::StoreSettings;
use crate::error::{self, StoreLocation};
use crate::last_break::LastBreak;
use crate::pooler;
use crate::pools::{DatabasePools, ListenerPool, Pools, PostgresPools};
use crate::store::SqlStore;

/// Maximum number of reader connections; one of them listens for notifications.
const MAX_READERS: u32 = 5;

/// The settings of every session or, behind a pooler, of every transaction. Temporary tables of others come last: behind a
/// pooler, they could have the name of one of ours.
const SETTINGS: &[(&str, &str)] = &[
    ("search_path", "windlass,pg_temp"),
    ("lock_timeout", "5000"),
    ("statement_timeout", "15000"),
    ("idle_in_transaction_session_timeout", "30000"),
];
/// Further settings of writers. The numbers of rows change faster than the statistics of the planner. So it must neither plan
/// each time, nor sort where an index has the order, nor read a whole table to join a few rows with it.
const WRITER_SETTINGS: &[(&str, &str)] = &[
    // Transactions that need not wait for the disk say so.
    ("synchronous_commit", "on"),
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_sort", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("jit", "off"),
];
/// A setting without a meaning, by which a session is recognized as ours.
const MARK: &str = "windlass.session";
const READ_MARK: &str = "SELECT coalesce(current_setting('windlass.session', true), '') AS mark";

/// Opens the store in a PostgreSQL database, under the schema `windlass`.
pub(crate) async fn open(url: &str, settings: StoreSettings) -> StoreResult<SqlStore> {
    let pools = connect(url, &settings).await?;
    let store = SqlStore::start(pools, settings).await?;
    store.check_listener().await?;
    Ok(store)
}

/// Connects to a PostgreSQL database, whatever it contains.
pub(crate) async fn connect(url: &str, settings: &StoreSettings) -> StoreResult<Pools> {
    let server = ServerAddress::parse("store.url", url)?;
    let location = server.location.clone();
    let timeout = settings.open_timeout;
    // Statements compare it with the oldest program that may use the store.
    let schema_version = settings.migrations.newest().to_string();
    let version = ("windlass.schema_version", schema_version.as_str());
    let writer_settings = [WRITER_SETTINGS, &[version]].concat();
    let (writing, reading) = match server.route(timeout).await? {
        ConnectionRoute::Direct => {
            let reading = ConnectionSettings::direct(&server, &[]);
            let writing = ConnectionSettings::direct(&server, &writer_settings);
            (writing, reading)
        }
        ConnectionRoute::Pooler => {
            tracing::info!(
                store = location.0,
                "the store is behind a connection pooler: nothing that needs a session is used"
            );
            let reading = ConnectionSettings::pooled(&server, &[]);
            let writing = ConnectionSettings::pooled(&server, &writer_settings);
            (writing, reading)
        }
    };
    let last_break = LastBreak::default();
    let readers = reading.pool(MAX_READERS, timeout, &last_break);
    let listener = match &settings.listen_url {
        Some(url) => Some(listener(url, timeout, &last_break).await?),
        None => reading
            .transaction_settings
            .is_none()
            .then(|| ListenerPool::Shared(readers.clone())),
    };
    Ok(Pools {
        kind: DatabasePools::Postgres(PostgresPools {
            writer: writing.pool(1, timeout, &last_break),
            writer_settings: writing.transaction_settings,
            readers,
            reader_settings: reading.transaction_settings,
            listener,
        }),
        file_signal: None,
        location,
        last_break,
        clock_skew: settings.clock_skew.clone(),
        lease_clock: Arc::clone(&settings.lease_clock),
        migrations: settings.migrations.clone(),
    })
}

/// Returns the connection for notifications at an address of its own.
async fn listener(
    url: &str,
    timeout: Duration,
    last_break: &LastBreak,
) -> StoreResult<ListenerPool> {
    let server = ServerAddress::parse("store.listen_url", url)?;
    let pool = ConnectionSettings::direct(&server, &[]).pool(1, timeout, last_break);
    match server.route(timeout).await {
        Ok(ConnectionRoute::Pooler) => {
            Err(StoreError::Refused(
                "store.listen_url leads to a connection pooler, which delivers no notifications: set it to the address of \
                 PostgreSQL itself, or remove it"
                    .to_owned(),
            ))
        }
        Ok(ConnectionRoute::Direct) => Ok(ListenerPool::Own(pool)),
        // Notifications only save time. The address is tried again while callers wait for events.
        Err(error) => {
            tracing::warn!(%error, "store.listen_url cannot be used now: events are polled until it can");
            Ok(ListenerPool::Unreachable(pool))
        }
    }
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionRoute {
    /// A connection is a session of the server.
    Direct,
    /// Transactions of a connection may be in different sessions, which others use too.
    Pooler,
}

/// An address of a server.
struct ServerAddress {
    options: PgConnectOptions,
    location: StoreLocation,
    /// The value of [`MARK`] in our sessions.
    mark: String,
}

impl ServerAddress {
    fn parse(key: &str, url: &str) -> StoreResult<Self> {
        let invalid_url = |error: sqlx::Error| {
            // The URL may contain a password, so it is not part of the message.
            let key = if key == "store.url" { "store URL" } else { key };
            StoreError::Unavailable(format!(
                "invalid {key}: {error}; expected postgres://user@host/database"
            ))
        };
        let options = PgConnectOptions::from_str(url)
            .map_err(invalid_url)?
            .application_name("windlass")
            // A pooler refuses it. No column has floating-point numbers.
            .extra_float_digits(None)
            .disable_statement_logging();
        let location = StoreLocation(format!(
            "PostgreSQL at {}/{}",
            options.get_socket().map_or_else(
                || format!("{}:{}", options.get_host(), options.get_port()),
                |socket| socket.display().to_string()
            ),
            options.get_database().unwrap_or_default()
        ));
        Ok(Self {
            options,
            location,
            mark: format!("{:016x}", RandomState::new().hash_one(url)),
        })
    }

    /// Connects, and finds out whether the connection is a session of the server.
    ///
    /// Options of a session are sent with the connection's first message. PgBouncer refuses them or, if it is set to ignore
    /// them, does not pass them on. It has no other sign that it always gives.
    async fn route(&self, timeout: Duration) -> StoreResult<ConnectionRoute> {
        // A pool would retry until its timeout. A direct connection reports an unreachable server immediately.
        match tokio::time::timeout(timeout, self.try_route()).await {
            Ok(Ok(route)) => Ok(route),
            Ok(Err(error)) if has_message(&error, "statement pooling mode") => {
                Err(StoreError::Refused(format!(
                    "the pooler in front of {} has no transactions: set pool_mode = transaction there",
                    self.location.0
                )))
            }
            Ok(Err(error)) if is_refused_option(&error) => Err(StoreError::Refused(format!(
                "the pooler in front of {} does not pass on the options in the address: remove them",
                self.location.0
            ))),
            Ok(Err(error)) => Err(error::classify(&self.location, error).error),
            Err(_) => Err(StoreError::Timeout {
                what: "connecting to PostgreSQL",
                after: timeout,
            }),
        }
    }

    async fn try_route(&self) -> sqlx::Result<ConnectionRoute> {
        let direct = ConnectionSettings::direct(self, &[]);
        match direct.options.connect().await {
            Ok(mut connection) => {
                let is_ours = read_mark(&mut connection).await? == self.mark;
                connection.close().await?;
                if is_ours {
                    return Ok(ConnectionRoute::Direct);
                }
            }
            Err(error) if is_refused_option(&error) => {}
            Err(error) => return Err(error),
        }
        let pooled = ConnectionSettings::pooled(self, &[]);
        let mut connection = pooled.options.connect().await?;
        // A pooler that gives each statement to another session refuses this.
        connection.execute("BEGIN").await?;
        connection.execute("ROLLBACK").await?;
        connection.close().await?;
        Ok(ConnectionRoute::Pooler)
    }
}

async fn read_mark(connection: &mut PgConnection) -> sqlx::Result<String> {
    let row = sqlx::raw_sql(READ_MARK).fetch_one(connection).await?;
    row.try_get("mark")
}

fn has_message(error: &sqlx::Error, part: &str) -> bool {
    let error = error.as_database_error();
    error.is_some_and(|error| error.message().contains(part))
}

fn is_refused_option(error: &sqlx::Error) -> bool {
    has_message(error, "unsupported startup parameter")
}

/// How connections are made, and what each of their transactions sets.
struct ConnectionSettings {
    options: PgConnectOptions,
    /// The mark that the session must have.
    mark: Option<String>,
    transaction_settings: Option<Arc<str>>,
}

impl ConnectionSettings {
    /// Each session is one connection's, and has the settings.
    fn direct(server: &ServerAddress, further: &[(&str, &str)]) -> Self {
        let options = server.options.clone();
        Self {
            options: options
                .options(SETTINGS.iter().chain(further).copied())
                .options([(MARK, &server.mark)]),
            mark: Some(server.mark.clone()),
            transaction_settings: None,
        }
    }

    /// Nothing is in a session.
    fn pooled(server: &ServerAddress, further: &[(&str, &str)]) -> Self {
        let settings: Vec<_> = SETTINGS.iter().chain(further).copied().collect();
        Self {
            options: server.options.clone().statement_cache_capacity(0),
            mark: None,
            transaction_settings: Some(pooler::transaction_settings(&settings).into()),
        }
    }

    fn pool(
        &self,
        connections: u32,
        timeout: Duration,
        last_break: &LastBreak,
    ) -> sqlx::Pool<Postgres> {
        let mark = self.mark.clone();
        let last_break = last_break.clone();
        PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(timeout)
            // Each test is a round trip. A connection in use fails by itself.
            .test_before_acquire(false)
            .before_acquire(move |connection, state| {
                let is_suspect = last_break.is_suspect(state.idle_for);
                Box::pin(async move {
                    if is_suspect {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .after_connect(move |connection, _| {
                let mark = mark.clone();
                Box::pin(async move { check_mark(connection, mark.as_deref()).await })
            })
            .connect_lazy_with(self.options.clone())
    }
}

/// Fails if the address leads to a pooler by now: without its settings, a session would read other tables.
async fn check_mark(connection: &mut PgConnection, mark: Option<&str>) -> sqlx::Result<()> {
    let Some(mark) = mark else {
        return Ok(());
    };
    if read_mark(connection).await? == mark {
        return Ok(());
    }
    let why = "PostgreSQL is behind a connection pooler since this process has started: restart it";
    tracing::error!("{why}");
    Err(sqlx::Error::Configuration(why.into()))
}
