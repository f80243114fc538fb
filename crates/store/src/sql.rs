//! One text for two databases, the values that go in, and the rows that come out.
//!
//! Every column is a 64-bit number or a text, so two kinds of value are all there is. Both databases know `$1`,
//! `RETURNING`, `ON CONFLICT`, partial indexes and `string_agg`; what differs stands in [`Sql`] side by side.

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use windlass_core::task::{StoreError, StoreResult};

/// A statement in both dialects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sql {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

impl Sql {
    /// A statement that reads the same in both.
    pub(crate) const fn same(text: &'static str) -> Self {
        Self {
            sqlite: text,
            postgres: text,
        }
    }
}

/// Writes a statement from literals. `lock "…"` stands for words that only PostgreSQL needs: SQLite has one writer.
macro_rules! sql {
    ($($text:expr),+ $(,)?) => { $crate::sql::Sql::same(concat!($($text),+)) };
    ($($before:expr),+ ; lock $lock:literal $(; $($after:expr),+)? $(,)?) => {
        $crate::sql::Sql {
            sqlite: concat!($($before,)+ $($($after),+)?),
            postgres: concat!($($before,)+ $lock, $($($after),+)?),
        }
    };
}
pub(crate) use sql;

/// A value for a statement.
#[derive(Debug, Clone)]
pub(crate) enum Arg {
    Int(Option<i64>),
    Text(Option<String>),
}

/// The values of a statement, in the order of their numbers.
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

/// PostgreSQL takes no NUL in a text. So that both stores give back the same, neither is given one.
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
    /// A number.
    pub(crate) fn int(&self, column: &str) -> StoreResult<i64> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(|error| decode_error(column, error))
    }

    /// A number, or nothing.
    pub(crate) fn opt_int(&self, column: &str) -> StoreResult<Option<i64>> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(|error| decode_error(column, error))
    }

    /// A text.
    pub(crate) fn text(&self, column: &str) -> StoreResult<String> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(|error| decode_error(column, error))
    }

    /// A text, or nothing.
    pub(crate) fn opt_text(&self, column: &str) -> StoreResult<Option<String>> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(|error| decode_error(column, error))
    }

    /// A yes or no.
    pub(crate) fn flag(&self, column: &str) -> StoreResult<bool> {
        Ok(self.int(column)? != 0)
    }

    /// A small number, such as an attempt's.
    pub(crate) fn int_as<N: TryFrom<i64>>(&self, column: &str) -> StoreResult<N> {
        let value = self.int(column)?;
        N::try_from(value).map_err(|_| decode_error(column, value))
    }

    /// A value that was written as JSON.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, column: &str) -> StoreResult<T> {
        serde_json::from_str(&self.text(column)?).map_err(|error| decode_error(column, error))
    }
}

/// A value in the store that does not read as what it should be.
pub(crate) fn decode_error(column: &str, why: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!(
        "the store holds something unreadable in {column}: {why}"
    ))
}

/// A value as the JSON that the store keeps.
pub(crate) fn json<T: serde::Serialize>(value: &T) -> StoreResult<String> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Refused(format!("it cannot be written as JSON: {error}")))
}
