//! A statement that is run for several rows, in one call on SQLite: a statement takes longer to reach SQLite's thread than to
//! run there.

use std::iter::Peekable;
use std::str::Chars;
use std::sync::OnceLock;

use windlass_tasks::StoreResult;

use crate::connection::DbConnection;
use crate::sql::{Arg, Row, Sql};

/// The most rows of one call. SQLite keeps prepared statements for each number of rows.
const MAX_ROWS: usize = 8;

/// A statement for one row, which is repeated for others.
pub(crate) struct RowStatement {
    row: Sql,
    /// The texts for one row, for two, and so on.
    repeated: OnceLock<[String; MAX_ROWS]>,
}

impl RowStatement {
    pub(crate) const fn new(row: Sql) -> Self {
        Self {
            row,
            repeated: OnceLock::new(),
        }
    }

    /// Runs the statement, which writes, for one row.
    pub(crate) async fn run(&self, db: &mut DbConnection, row: Vec<Arg>) -> StoreResult<Vec<Row>> {
        db.fetch_written(self.row, row).await
    }

    /// Runs the statement for each row, on SQLite, and returns what they return, in the same order. All rows have the same
    /// number of values.
    pub(crate) async fn run_each(
        &'static self,
        db: &mut DbConnection,
        rows: Vec<Vec<Arg>>,
    ) -> StoreResult<Vec<Row>> {
        let mut returned = Vec::new();
        let mut rows = rows.into_iter();
        loop {
            let some: Vec<Vec<Arg>> = rows.by_ref().take(MAX_ROWS).collect();
            let (Some(first), count) = (some.first(), some.len()) else {
                return Ok(returned);
            };
            let sql = Sql {
                sqlite: &self.texts(first.len())[count - 1],
                postgres: "",
            };
            let values = some.into_iter().flatten().collect();
            returned.append(&mut db.fetch_written(sql, values).await?);
        }
    }

    /// Returns the texts for rows with this number of values.
    fn texts(&'static self, width: usize) -> &'static [String; MAX_ROWS] {
        self.repeated
            .get_or_init(|| std::array::from_fn(|more| repeat(self.row.sqlite, width, more + 1)))
    }
}

/// Returns a statement with this number of arguments several times, with an argument of its own for each.
fn repeat(row: &str, width: usize, times: usize) -> String {
    let mut text = String::new();
    for at in 0..times {
        let mut rest = row.chars().peekable();
        while let Some(next) = rest.next() {
            text.push(next);
            if next == '$' {
                text += &(number(&mut rest) + at * width).to_string();
            }
        }
        text.push(';');
    }
    text
}

/// Reads the digits of a number.
fn number(text: &mut Peekable<Chars<'_>>) -> usize {
    let mut number = 0;
    while let Some(digit) = text.peek().and_then(|next| next.to_digit(10)) {
        number = number * 10 + digit as usize;
        text.next();
    }
    number
}

#[cfg(test)]
mod tests {
    use super::repeat;

    #[test]
    fn each_row_has_its_own_arguments() {
        let row = "INSERT INTO t (a, b) VALUES ($1, $12)";
        let expected =
            "INSERT INTO t (a, b) VALUES ($1, $12);INSERT INTO t (a, b) VALUES ($13, $24);";
        assert_eq!(repeat(row, 12, 2), expected);
    }
}
