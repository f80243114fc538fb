//! The text of a backup: a header, each table with its rows, and a summary. One JSON value per line.
//!
//! It is the same for both databases, so that a store can be moved from one to the other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::schema::{ColumnSpec, TableSpec};

/// The version of the format.
const FORMAT: u32 = 1;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BackupHeader {
    /// The version of the format.
    windlass_backup: u32,
    /// The version of the schema.
    pub(super) schema: i64,
}

impl BackupHeader {
    pub(super) fn new(schema: i64) -> Self {
        Self {
            windlass_backup: FORMAT,
            schema,
        }
    }
}

/// The line before the rows of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableStart {
    pub(super) table: String,
    pub(super) columns: Vec<String>,
    /// The last id that the database assigned, if it assigns them.
    pub(super) last_id: Option<i64>,
}

/// The last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Trailer {
    pub(super) end: StoreSummary,
}

/// The rows of a store: for each table their number and a digest that does not depend on their order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoreSummary {
    /// By table.
    pub tables: BTreeMap<String, TableSummary>,
}

/// The rows of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSummary {
    /// The number of rows.
    pub rows: u64,
    /// The sum of the hashes of the rows, in hexadecimal digits.
    pub digest: String,
}

impl StoreSummary {
    /// Returns the number of rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.values().map(|table| table.rows).sum()
    }
}

/// Sums the hashes of rows.
#[derive(Debug, Default)]
pub(super) struct RowDigest {
    rows: u64,
    sum: u128,
}

impl RowDigest {
    pub(super) fn add(&mut self, line: &str) {
        let hash = Sha256::digest(line.as_bytes());
        let hash = hash
            .iter()
            .take(16)
            .fold(0, |sum: u128, byte| (sum << 8) | u128::from(*byte));
        self.sum = self.sum.wrapping_add(hash);
        self.rows += 1;
    }

    pub(super) fn summary(&self) -> TableSummary {
        TableSummary {
            rows: self.rows,
            digest: format!("{:032x}", self.sum),
        }
    }
}

/// A line of a backup.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Line {
    Header(BackupHeader),
    Table(TableStart),
    /// A row, as JSON.
    Row(String),
    End(Trailer),
}

/// Parses a line. A row must have the columns of its table.
pub(super) fn parse_line(text: &str, table: Option<&TableSpec>) -> Result<Line, String> {
    if text.starts_with('[') {
        let table = table.ok_or("a row without a table")?;
        return parse_row(text, &table.columns).map(Line::Row);
    }
    let invalid = |error: serde_json::Error| format!("not a line of a backup: {error}");
    if text.starts_with(r#"{"table""#) {
        return serde_json::from_str(text).map(Line::Table).map_err(invalid);
    }
    if text.starts_with(r#"{"end""#) {
        return serde_json::from_str(text).map(Line::End).map_err(invalid);
    }
    let header: BackupHeader = serde_json::from_str(text).map_err(invalid)?;
    if header.windlass_backup != FORMAT {
        return Err(format!(
            "the backup has format {}, this version reads {FORMAT}",
            header.windlass_backup
        ));
    }
    Ok(Line::Header(header))
}

fn parse_row(text: &str, columns: &[ColumnSpec]) -> Result<String, String> {
    let values: Vec<Value> =
        serde_json::from_str(text).map_err(|error| format!("not a row: {error}"))?;
    if values.len() != columns.len() {
        let (found, expected) = (values.len(), columns.len());
        return Err(format!("a row has {found} values instead of {expected}"));
    }
    for (value, column) in values.iter().zip(columns) {
        let is_valid = match value {
            Value::Null => true,
            Value::String(text) => column.is_text && !text.contains('\0'),
            value => !column.is_text && value.is_i64(),
        };
        if !is_valid {
            return Err(format!("the column {} has an invalid value", column.name));
        }
    }
    serde_json::to_string(&values).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TableSpec {
        let column = |name: &str, is_text| ColumnSpec {
            name: name.to_owned(),
            is_text,
        };
        TableSpec {
            name: "shop".to_owned(),
            columns: vec![column("id", false), column("name", true)],
            key: vec!["id".to_owned()],
            assigns_ids: true,
        }
    }

    #[test]
    fn rows_must_fit_their_table() {
        let table = table();
        let parse = |text: &str| parse_line(text, Some(&table));
        assert_eq!(
            parse(r#"[ 1, "tea" ]"#),
            Ok(Line::Row(r#"[1,"tea"]"#.to_owned()))
        );
        assert!(parse("[9223372036854775807,null]").is_ok());
        for bad in [
            "[1]",
            "[1,2]",
            r#"["1","tea"]"#,
            r#"[1.5,"tea"]"#,
            r#"[9223372036854775808,"tea"]"#,
            r#"[1,"a\u0000b"]"#,
            r#"[1,["tea"]]"#,
            "[1,true]",
            "[1,",
            "",
            "{}",
            r#"{"windlass_backup":2,"schema":1}"#,
            r#"{"end":{"shop":{"rows":-1,"digest":""}}}"#,
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(parse_line("[1]", None).is_err());
    }

    #[test]
    fn digest_ignores_the_order_and_sees_each_row() {
        let digest = |lines: &[&str]| {
            let mut digest = RowDigest::default();
            lines.iter().for_each(|line| digest.add(line));
            digest.summary()
        };
        assert_eq!(digest(&["[1]", "[2]"]), digest(&["[2]", "[1]"]));
        assert_ne!(digest(&["[1]", "[2]"]), digest(&["[1]", "[3]"]));
        assert_ne!(digest(&["[1]"]), digest(&["[1]", "[1]"]));
    }
}
