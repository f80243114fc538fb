//! SQL for both databases: statements, arguments and rows.
//!
//! Every column is a 64-bit integer or text, so there are two kinds of arguments. Both databases support
//! `$1`, `RETURNING`, `ON CONFLICT`, partial indexes and `string_agg`. Statements that differ have both
//! versions in [`Sql`].

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use windlass_tasks::{
    ApprovalId, AuditId, BlockerId, IssueId, LandingId, LandingToken, MessageId, ModelCallId,
    NotificationId, ProjectId, PushId, ReviewId, ScheduleId, StoreError, StoreResult, TaskId,
    TokenId, WorkerId,
};

/// A statement in both dialects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sql {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

impl Sql {
    /// Creates a statement that is the same in both dialects.
    pub(crate) const fn same(text: &'static str) -> Self {
        Self {
            sqlite: text,
            postgres: text,
        }
    }
}

/// The first part of the `WITH` clause of a statement that is its own transaction: the database's time plus `$1`. A program that
/// is too old for the store finds no time, and writes nothing. Writers wait for the disk, but for a `relaxed` statement.
macro_rules! merged_clock {
    () => {
        $crate::sql::merged_clock!(setting "")
    };
    (relaxed) => {
        $crate::sql::merged_clock!(setting ", set_config('synchronous_commit', 'off', true)")
    };
    (setting $setting:literal) => {
        concat!(
            "clock AS MATERIALIZED (SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) + $1 AS now",
            $setting,
            " FROM counter WHERE name = 'oldest_program' ",
            "AND value <= CAST(current_setting('windlass.schema_version') AS BIGINT))"
        )
    };
}
pub(crate) use merged_clock;

/// Builds a merged write ([`merged_write`](crate::merged_write)). `sqlite` is its statement within a transaction, which returns
/// the tasks that it wrote. PostgreSQL runs the other parts as a `WITH` clause that is its own transaction. One of them is
/// `changed`: the rows of the tasks that it wrote. The statement appends their events and returns the tasks. It returns when
/// that is on disk: each of these writes is durable or gives out a fencing token.
///
/// `$1` is the time on SQLite, and the offset of the database's clock on PostgreSQL. `$2` to `$4` are the event's body on
/// PostgreSQL ([`events::status_parts`](crate::events::status_parts)).
macro_rules! merged_sql {
    (sqlite $sqlite:expr; notify $payload:literal; $($parts:expr),+ $(,)?) => {
        $crate::sql::Sql {
            sqlite: $sqlite,
            postgres: concat!(
                "WITH ",
                $crate::sql::merged_clock!(),
                ", ",
                $($parts,)+
                ", numbered AS (UPDATE counter SET value = value + (SELECT count(*) FROM changed) ",
                "WHERE name = 'event' AND EXISTS (SELECT 1 FROM changed) ",
                "RETURNING value, CAST(pg_notify('windlass', ", $payload, ") AS TEXT)), ",
                "logged AS (INSERT INTO event (seq, at, project_id, task_id, body) ",
                "SELECT numbered.value - count(*) OVER () + row_number() OVER (), clock.now, project_id, id, ",
                "$2 || project_id || $3 || id || replace($4, '<kind>', kind) FROM changed, numbered, clock) ",
                "SELECT ",
                $crate::task_row::columns!(),
                ", numbered.value AS last_seq FROM changed AS task, numbered"
            ),
        }
    };
    (sqlite $sqlite:expr; $($parts:expr),+ $(,)?) => {
        $crate::sql::merged_sql!(sqlite $sqlite; notify "CAST(value AS TEXT)"; $($parts),+)
    };
}
pub(crate) use merged_sql;

/// Builds a statement from literals. `lock "…"` is text that only PostgreSQL needs: SQLite has one writer. `index "…"` is text
/// that only SQLite needs: it has no statistics, and would use a full index on the status instead of a partial one.
macro_rules! sql {
    ($($before:expr),+ ; index $index:literal; $($after:expr),+ $(,)?) => {
        $crate::sql::Sql {
            sqlite: concat!($($before,)+ " INDEXED BY ", $index, " ", $($after),+),
            postgres: concat!($($before,)+ " ", $($after),+),
        }
    };
    ($($text:expr),+ $(,)?) => { $crate::sql::Sql::same(concat!($($text),+)) };
    ($($before:expr),+ ; lock $lock:literal $(; $($after:expr),+)? $(,)?) => {
        $crate::sql::Sql {
            sqlite: concat!($($before,)+ $($($after),+)?),
            postgres: concat!($($before,)+ $lock, $($($after),+)?),
        }
    };
}
pub(crate) use sql;

/// An argument of a statement.
#[derive(Debug, Clone)]
pub(crate) enum Arg {
    Int(Option<i64>),
    Text(Option<String>),
}

/// Builds the arguments of a statement, in the order of their numbers.
macro_rules! args {
    ($($value:expr),* $(,)?) => { vec![$($crate::sql::Arg::from($value)),*] };
}
pub(crate) use args;

impl From<i64> for Arg {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}

impl From<Option<i64>> for Arg {
    fn from(value: Option<i64>) -> Self {
        Self::Int(value)
    }
}

/// Makes ids arguments.
macro_rules! id_args {
    ($($id:ty),+ $(,)?) => {$(
        impl From<$id> for Arg {
            fn from(id: $id) -> Self {
                Self::Int(Some(id.get()))
            }
        }

        impl From<Option<$id>> for Arg {
            fn from(id: Option<$id>) -> Self {
                Self::Int(id.map(<$id>::get))
            }
        }
    )+};
}

id_args![
    ApprovalId,
    AuditId,
    BlockerId,
    IssueId,
    LandingId,
    LandingToken,
    MessageId,
    ModelCallId,
    NotificationId,
    ProjectId,
    PushId,
    ReviewId,
    ScheduleId,
    TaskId,
    TokenId,
    WorkerId,
];

/// Returns an id, or 0 for `None`, which no record has. Statements of lists compare a filter with it.
pub(crate) fn or_zero(id: impl Into<Arg>) -> Arg {
    match id.into() {
        Arg::Int(None) => Arg::Int(Some(0)),
        other => other,
    }
}

impl From<u32> for Arg {
    fn from(value: u32) -> Self {
        Self::Int(Some(value.into()))
    }
}

impl From<u8> for Arg {
    fn from(value: u8) -> Self {
        Self::Int(Some(value.into()))
    }
}

impl From<bool> for Arg {
    fn from(value: bool) -> Self {
        Self::Int(Some(value.into()))
    }
}

impl From<String> for Arg {
    fn from(value: String) -> Self {
        Self::Text(Some(bind_value(value)))
    }
}

impl From<&str> for Arg {
    fn from(value: &str) -> Self {
        value.to_owned().into()
    }
}

impl From<Option<&str>> for Arg {
    fn from(value: Option<&str>) -> Self {
        Self::Text(value.map(|text| bind_value(text.to_owned())))
    }
}

/// Replaces NUL characters. PostgreSQL rejects NUL in text; both stores must return the same value, so
/// neither stores it.
fn bind_value(text: String) -> String {
    if text.contains('\0') {
        text.replace('\0', "\u{FFFD}")
    } else {
        text
    }
}

/// A row of either database.
#[derive(Debug)]
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    /// Returns an integer column.
    pub(crate) fn int(&self, column: &str) -> StoreResult<i64> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(|error| decode_error(column, error))
    }

    /// Returns a nullable integer column.
    pub(crate) fn opt_int(&self, column: &str) -> StoreResult<Option<i64>> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(|error| decode_error(column, error))
    }

    /// Returns the column of an id.
    pub(crate) fn id<I: From<i64>>(&self, column: &str) -> StoreResult<I> {
        self.int(column).map(I::from)
    }

    /// Returns the nullable column of an id.
    pub(crate) fn opt_id<I: From<i64>>(&self, column: &str) -> StoreResult<Option<I>> {
        Ok(self.opt_int(column)?.map(I::from))
    }

    /// Returns a text column.
    pub(crate) fn text(&self, column: &str) -> StoreResult<String> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(|error| decode_error(column, error))
    }

    /// Returns a nullable text column.
    pub(crate) fn opt_text(&self, column: &str) -> StoreResult<Option<String>> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(|error| decode_error(column, error))
    }

    /// Returns an integer column as a boolean.
    pub(crate) fn flag(&self, column: &str) -> StoreResult<bool> {
        Ok(self.int(column)? != 0)
    }

    /// Returns an integer column converted to a smaller type, such as an attempt number.
    pub(crate) fn int_as<N: TryFrom<i64>>(&self, column: &str) -> StoreResult<N> {
        let value = self.int(column)?;
        N::try_from(value).map_err(|_| decode_error(column, value))
    }

    /// Deserializes a JSON column.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, column: &str) -> StoreResult<T> {
        serde_json::from_str(&self.text(column)?).map_err(|error| decode_error(column, error))
    }

    /// Deserializes a nullable JSON column.
    pub(crate) fn opt_json<T: serde::de::DeserializeOwned>(
        &self,
        column: &str,
    ) -> StoreResult<Option<T>> {
        let text = self.opt_text(column)?;
        text.map(|text| serde_json::from_str(&text))
            .transpose()
            .map_err(|error| decode_error(column, error))
    }
}

/// Error for a stored value that cannot be decoded.
pub(crate) fn decode_error(column: &str, why: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!(
        "the store contains an invalid value in {column}: {why}"
    ))
}

/// Serializes rows as the JSON array that a merged write reads. Returns `None` for rows with a NUL character: an operation
/// replaces it ([`bind_value`]).
pub(crate) fn json_rows<T: serde::Serialize>(rows: &[T]) -> StoreResult<Option<String>> {
    let rows = json(&rows)?;
    Ok((!rows.contains("\\u0000")).then_some(rows))
}

/// Serializes a value as JSON for a text column.
pub(crate) fn json<T: serde::Serialize>(value: &T) -> StoreResult<String> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Refused(format!("cannot serialize as JSON: {error}")))
}
