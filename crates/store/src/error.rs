//! What a database complains about, in the words of the store.

use std::time::Duration;

use windlass_core::task::StoreError;

/// Where the store is, as a person may see it: no password.
#[derive(Debug, Clone)]
pub(crate) struct Place(pub(crate) String);

/// What went wrong with a statement, and whether doing all of it again may help.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) error: StoreError,
    pub(crate) again: bool,
}

/// Reads the database's complaint.
pub(crate) fn read(place: &Place, error: sqlx::Error) -> Broken {
    let Place(place) = place;
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
        sqlx::Error::PoolTimedOut => Broken {
            error: StoreError::Unavailable(format!("{place} gave no connection in time")),
            again: true,
        },
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => Broken {
            error: StoreError::Unavailable(format!("{place} is not to be reached: {error}")),
            again: true,
        },
        sqlx::Error::WorkerCrashed | sqlx::Error::PoolClosed => Broken {
            error: StoreError::Unavailable(format!("{place} was closed")),
            again: false,
        },
        _ => refuse(place, &error.to_string()),
    }
}

fn refuse(place: &str, message: &str) -> Broken {
    Broken {
        error: StoreError::Unavailable(format!("{place} cannot be used: {message}")),
        again: false,
    }
}

fn full(place: &str) -> Broken {
    Broken {
        error: StoreError::Full(format!(
            "no room left for {place}: reading still works, and writing does again once there is room"
        )),
        again: false,
    }
}

fn sqlite(place: &str, code: i32, message: &str) -> Broken {
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
        BUSY | LOCKED => Broken {
            error: StoreError::Timeout {
                what: "waiting for another process that writes to the store",
                after: BUSY_PATIENCE,
            },
            again: false,
        },
        FULL => full(place),
        READONLY => Broken {
            error: StoreError::Unavailable(format!(
                "{place} is read-only: what it holds can be read, nothing can be added"
            )),
            again: false,
        },
        CORRUPT | NOTADB => Broken {
            error: damaged(place, message),
            again: false,
        },
        CANTOPEN => refuse(
            place,
            "it cannot be opened; look at its folder and its permissions",
        ),
        _ => refuse(place, message),
    }
}

/// How long another process may hold SQLite's write lock before that is an error.
pub(crate) const BUSY_PATIENCE: Duration = Duration::from_secs(5);

/// A file that is not what it should be. It is left as it is.
pub(crate) fn damaged(place: &str, message: &str) -> StoreError {
    StoreError::Unavailable(format!(
        "{place} is damaged ({message}): it was left as it is; move it away to begin a new store, or put a copy back"
    ))
}

const PASSING: [&str; 4] = ["57P01", "57P02", "57P03", "53300"];

fn postgres(place: &str, code: &str, message: &str) -> Broken {
    match code {
        // No room: the disk, or memory.
        "53100" | "53200" => full(place),
        // Two transactions that wait for each other, or saw each other.
        "40001" | "40P01" => Broken {
            error: StoreError::Unavailable(format!("{place} is too busy: {message}")),
            again: true,
        },
        // It waited for a lock, or for itself, longer than we allow.
        "55P03" | "57014" => Broken {
            error: StoreError::Timeout {
                what: "waiting for another process that writes to the store",
                after: BUSY_PATIENCE,
            },
            again: false,
        },
        "25006" => Broken {
            error: StoreError::Unavailable(format!(
                "{place} is read-only: what it holds can be read, nothing can be added"
            )),
            again: false,
        },
        // It shuts down, starts up, or has no connection left: that passes.
        passing if passing.starts_with("08") || PASSING.contains(&passing) => Broken {
            error: StoreError::Unavailable(format!("{place} is not ready: {message}")),
            again: true,
        },
        _ => refuse(place, message),
    }
}
