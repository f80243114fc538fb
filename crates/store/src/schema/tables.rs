//! The tables of a schema version with their columns, parents before children.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::sqlite::SqliteRow;
use sqlx::{Connection, Row as _};
use windlass_tasks::StoreResult;

use super::{META, Migrations, memory_schema};
use crate::error::{self, StoreLocation};

/// A column. Every value is a 64-bit integer or text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnSpec {
    pub(crate) name: String,
    pub(crate) is_text: bool,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableSpec {
    pub(crate) name: String,
    pub(crate) columns: Vec<ColumnSpec>,
    /// The columns of the primary key, in their order.
    pub(crate) key: Vec<String>,
    /// The database assigns the ids, and never one twice.
    pub(crate) assigns_ids: bool,
}

const COLUMNS: &str = "SELECT t.name AS tbl, c.name AS col, c.type AS kind, c.pk AS pk, \
    t.sql LIKE '%AUTOINCREMENT%' AS assigns FROM sqlite_schema t, pragma_table_info(t.name) c \
    WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid";
const PARENTS: &str = "SELECT t.name AS tbl, f.\"table\" AS parent FROM sqlite_schema t, \
    pragma_foreign_key_list(t.name) f WHERE t.type = 'table' AND f.\"table\" <> t.name";

/// Returns the tables of a version, without the one of the versions.
pub(crate) async fn tables(known: &Migrations, version: i64) -> StoreResult<Vec<TableSpec>> {
    let location = StoreLocation("the schema in memory".to_owned());
    let failed = |error| error::classify(&location, error).error;
    let mut memory = memory_schema(known, version).await.map_err(failed)?;
    let columns = sqlx::query(COLUMNS).fetch_all(&mut memory).await;
    let parents = sqlx::query(PARENTS).fetch_all(&mut memory).await;
    // Nothing is lost if the connection is not closed cleanly.
    let _ = memory.close().await;
    let specs = specs(&columns.map_err(failed)?).map_err(failed)?;
    let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in parents.map_err(failed)? {
        let table = row.try_get("tbl").map_err(failed)?;
        let parent = row.try_get("parent").map_err(failed)?;
        needs.entry(table).or_default().insert(parent);
    }
    Ok(in_order(specs, &needs))
}

fn specs(rows: &[SqliteRow]) -> Result<Vec<TableSpec>, sqlx::Error> {
    let mut found: Vec<(TableSpec, BTreeMap<i64, String>)> = Vec::new();
    for row in rows {
        let table: String = row.try_get("tbl")?;
        if table == META {
            continue;
        }
        if found.last().is_none_or(|(last, _)| last.name != table) {
            let spec = TableSpec {
                name: table,
                columns: Vec::new(),
                key: Vec::new(),
                assigns_ids: row.try_get("assigns")?,
            };
            found.push((spec, BTreeMap::new()));
        }
        let Some((spec, key)) = found.last_mut() else {
            continue;
        };
        let (name, kind): (String, String) = (row.try_get("col")?, row.try_get("kind")?);
        match row.try_get("pk")? {
            0 => {}
            place => drop(key.insert(place, name.clone())),
        }
        let is_text = kind.eq_ignore_ascii_case("text");
        spec.columns.push(ColumnSpec { name, is_text });
    }
    let with_key = |(mut spec, key): (TableSpec, BTreeMap<i64, String>)| {
        spec.key = key.into_values().collect();
        spec
    };
    Ok(found.into_iter().map(with_key).collect())
}

/// Puts parents before their children.
fn in_order(
    mut rest: Vec<TableSpec>,
    needs: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<TableSpec> {
    let mut ordered: Vec<TableSpec> = Vec::new();
    while !rest.is_empty() {
        let is_ready = |spec: &TableSpec| {
            let mut parents = needs.get(&spec.name).into_iter().flatten();
            parents.all(|parent| ordered.iter().any(|done| done.name == *parent))
        };
        // In a circle of tables, which does not exist today, any one is the next.
        let next = rest.iter().position(is_ready).unwrap_or(0);
        ordered.push(rest.remove(next));
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tables_have_keys_and_parents_come_first() {
        let known = Migrations::default();
        let tables = tables(&known, known.newest()).await.unwrap();
        let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        let at = |name: &str| names.iter().position(|found| *found == name).unwrap();
        assert!(
            at("project") < at("task") && at("task") < at("schedule"),
            "{names:?}"
        );
        assert!(at("review") < at("review_comment"), "{names:?}");
        assert!(!names.contains(&"windlass_schema"), "{names:?}");
        for table in &tables {
            assert!(!table.key.is_empty(), "{table:?}");
            assert!(!table.assigns_ids || table.key.len() == 1, "{table:?}");
        }
        assert_eq!(tables[at("dependency")].key, ["task_id", "on_id"]);
        assert!(tables[at("task")].assigns_ids && !tables[at("event")].assigns_ids);
    }
}
