//! What a database complains about, in the words of the store.

use std::time::Duration;

use windlass_core::task::StoreError;

/// Where the store is, as a person may see it: no password.
#[derive(Debug, Clone)]
pub(crate) struct StoreLocation(pub(crate) String);

/// What went wrong with a statement, and whether doing all of it again may help.
#[derive(Debug)]
pub(crate) struct DbError {
    pub(crate) error: StoreError,
    pub(crate) again: bool,
}

/// Reads the database's complaint.
pub(crate) fn classify(place: &StoreLocation, error: sqlx::Error) -> DbError {
    let StoreLocation(place) = place;
    match &error {
        sqlx::Error::Database(complaint) => {
            let code = complaint.code().unwrap_or_default();
            let message = complaint.message();
            match code.parse::<i32>() {
                // SQLite's codes are plain numbers below 10,000; PostgreSQL's have five characters.
                Ok(number) if code.len() < 5 => sqlite(place, number, message),
                _ => postgres(place, &code, message),
            }
        }
        sqlx::Error::PoolTimedOut => DbError {
            error: StoreError::Unavailable(format!("{place} gave no connection in time")),
            again: true,
        },
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => DbError {
            error: StoreError::Unavailable(format!("{place} is not to be reached: {error}")),
            again: true,
        },
        sqlx::Error::WorkerCrashed | sqlx::Error::PoolClosed => DbError {
            error: StoreError::Unavailable(format!("{place} was closed")),
            again: false,
        },
        _ => rejected(place, &error.to_string()),
    }
}

fn rejected(place: &str, message: &str) -> DbError {
    DbError {
        error: StoreError::Unavailable(format!("{place} cannot be used: {message}")),
        again: false,
    }
}

fn full(place: &str) -> DbError {
    DbError {
        error: StoreError::Full(format!(
            "no room left for {place}: reading still works, and writing does again once there is room"
        )),
        again: false,
    }
}

fn sqlite(place: &str, code: i32, message: &str) -> DbError {
    const BUSY: i32 = 5;
    const LOCKED: i32 = 6;
    const READONLY: i32 = 8;
    const IOERR: i32 = 10;
    const CORRUPT: i32 = 11;
    const FULL: i32 = 13;
    const CANTOPEN: i32 = 14;
    const NOTADB: i32 = 26;
    // What the wal index says when there is no room for it to grow.
    const IOERR_SHMSIZE: i32 = IOERR | (19 << 8);
    if code == IOERR_SHMSIZE {
        return full(place);
    }
    // The extended codes carry the plain one in their low byte.
    match code & 0xff {
        BUSY | LOCKED => DbError {
            error: StoreError::Timeout {
                what: "waiting for another process that writes to the store",
                after: BUSY_TIMEOUT,
            },
            again: false,
        },
        FULL => full(place),
        READONLY => DbError {
            error: StoreError::Unavailable(format!(
                "{place} is read-only: what it holds can be read, nothing can be added"
            )),
            again: false,
        },
        CORRUPT | NOTADB => DbError {
            error: damaged(place, message),
            again: false,
        },
        CANTOPEN => rejected(
            place,
            "it cannot be opened; look at its folder and its permissions",
        ),
        _ => rejected(place, message),
    }
}

/// How long another process may hold SQLite's write lock before that is an error.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A file that is not what it should be. It is left as it is.
pub(crate) fn damaged(place: &str, message: &str) -> StoreError {
    StoreError::Unavailable(format!(
        "{place} is damaged ({message}): it was left as it is; move it away to begin a new store, or put a copy back"
    ))
}

const TRANSIENT_SQLSTATES: [&str; 4] = ["57P01", "57P02", "57P03", "53300"];

fn postgres(place: &str, code: &str, message: &str) -> DbError {
    match code {
        // No room: the disk, or memory.
        "53100" | "53200" => full(place),
        // Two transactions that wait for each other, or saw each other.
        "40001" | "40P01" => DbError {
            error: StoreError::Unavailable(format!("{place} is too busy: {message}")),
            again: true,
        },
        // It waited for a lock, or for itself, longer than we allow.
        "55P03" | "57014" => DbError {
            error: StoreError::Timeout {
                what: "waiting for another process that writes to the store",
                after: BUSY_TIMEOUT,
            },
            again: false,
        },
        "25006" => DbError {
            error: StoreError::Unavailable(format!(
                "{place} is read-only: what it holds can be read, nothing can be added"
            )),
            again: false,
        },
        // It shuts down, starts up, or has no connection left: that passes.
        passing if passing.starts_with("08") || TRANSIENT_SQLSTATES.contains(&passing) => DbError {
            error: StoreError::Unavailable(format!("{place} is not ready: {message}")),
            again: true,
        },
        _ => rejected(place, message),
    }
}
