//! Conversion of database errors to [`StoreError`].

use std::time::Duration;

use windlass_tasks::StoreError;

/// Location of the store for messages, without the password.
#[derive(Debug, Clone)]
pub(crate) struct StoreLocation(pub(crate) String);

/// A failed statement.
#[derive(Debug)]
pub(crate) struct DbError {
    pub(crate) error: StoreError,
    /// Repeating the whole transaction may succeed.
    pub(crate) retryable: bool,
}

/// Converts a database error.
pub(crate) fn classify(location: &StoreLocation, error: sqlx::Error) -> DbError {
    let StoreLocation(location) = location;
    match &error {
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            let message = error.message();
            match code.parse::<i32>() {
                // SQLite's codes are numbers below 10,000; PostgreSQL's have five characters.
                Ok(number) if code.len() < 5 => sqlite(location, number, message),
                _ => postgres(location, &code, message),
            }
        }
        sqlx::Error::PoolTimedOut => DbError {
            error: StoreError::Unavailable(format!(
                "{location}: timed out waiting for a connection"
            )),
            retryable: true,
        },
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => DbError {
            error: StoreError::Unavailable(format!("cannot reach {location}: {error}")),
            retryable: true,
        },
        sqlx::Error::WorkerCrashed | sqlx::Error::PoolClosed => DbError {
            error: StoreError::Unavailable(format!("{location} was closed")),
            retryable: false,
        },
        _ => rejected(location, &error.to_string()),
    }
}

/// Returns `true` if the server has certainly rolled back the statement. After a lost connection, or when the server
/// shuts down, the statement may have been committed.
pub(crate) fn is_rejected(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            !code.starts_with("08") && !code.starts_with("57P")
        }
        _ => false,
    }
}

/// Returns `true` if the connection to a server broke, or the server ended it.
pub(crate) fn is_broken(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| code.starts_with("57P")),
        _ => false,
    }
}

fn rejected(location: &str, message: &str) -> DbError {
    DbError {
        error: StoreError::Unavailable(format!("{location} cannot be used: {message}")),
        retryable: false,
    }
}

fn full(location: &str) -> DbError {
    DbError {
        error: StoreError::Full(format!(
            "no space left for {location}: reading still works; free some space to write again"
        )),
        retryable: false,
    }
}

fn sqlite(location: &str, code: i32, message: &str) -> DbError {
    const BUSY: i32 = 5;
    const LOCKED: i32 = 6;
    const READONLY: i32 = 8;
    const IOERR: i32 = 10;
    const CORRUPT: i32 = 11;
    const FULL: i32 = 13;
    const CANTOPEN: i32 = 14;
    const NOTADB: i32 = 26;
    // The WAL index cannot grow because the disk is full.
    const IOERR_SHMSIZE: i32 = IOERR | (19 << 8);
    if code == IOERR_SHMSIZE {
        return full(location);
    }
    // Extended codes contain the primary code in their low byte.
    match code & 0xff {
        BUSY | LOCKED => DbError {
            error: StoreError::Timeout {
                what: "waiting for another process that writes to the store",
                after: BUSY_TIMEOUT,
            },
            retryable: false,
        },
        FULL => full(location),
        READONLY => DbError {
            error: StoreError::Unavailable(format!(
                "{location} is read-only: data can be read but not changed"
            )),
            retryable: false,
        },
        CORRUPT | NOTADB => DbError {
            error: damaged(location, message),
            retryable: false,
        },
        CANTOPEN => rejected(
            location,
            "it cannot be opened; check its directory and its permissions",
        ),
        _ => rejected(location, message),
    }
}

/// How long another process may hold SQLite's write lock before that is an error.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Error for a damaged database file. The file is not modified.
pub(crate) fn damaged(location: &str, message: &str) -> StoreError {
    StoreError::Unavailable(format!(
        "{location} is damaged ({message}): it was not modified; move it away to start a new store, or restore a backup"
    ))
}

/// Server shutdown or startup, and too many connections.
const TRANSIENT_SQLSTATES: [&str; 4] = ["57P01", "57P02", "57P03", "53300"];

fn postgres(location: &str, code: &str, message: &str) -> DbError {
    match code {
        // Disk full, or out of memory.
        "53100" | "53200" => full(location),
        // Serialization failure or deadlock.
        "40001" | "40P01" => DbError {
            error: StoreError::Unavailable(format!("{location} is too busy: {message}")),
            retryable: true,
        },
        // Lock timeout or statement timeout.
        "55P03" | "57014" => DbError {
            error: StoreError::Timeout {
                what: "waiting for another process that writes to the store",
                after: BUSY_TIMEOUT,
            },
            retryable: false,
        },
        "25006" => DbError {
            error: StoreError::Unavailable(format!(
                "{location} is read-only: data can be read but not changed"
            )),
            retryable: false,
        },
        // The server is shutting down or starting up, has no free connection, or the connection failed.
        code if code.starts_with("08") || TRANSIENT_SQLSTATES.contains(&code) => DbError {
            error: StoreError::Unavailable(format!("{location} is not ready: {message}")),
            retryable: true,
        },
        _ => rejected(location, message),
    }
}
