//! Reads all tables in one consistent snapshot. Writers go on meanwhile.

use serde_json::Value;
use windlass_tasks::{StoreError, StoreResult};

use super::format::{BackupHeader, RowDigest, StoreSummary, TableStart, Trailer};
use crate::connection::DbConnection;
use crate::pools::Pools;
use crate::schema::{self, ColumnSpec, TableSpec};
use crate::sql::{Arg, Row, Sql, args, json};

/// How many rows are read at a time.
const PAGE: i64 = 500;

/// Begins a transaction that sees one state of the database. It may take long.
const BEGIN_SNAPSHOT: Sql = Sql {
    sqlite: "BEGIN",
    postgres: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0; \
               SET LOCAL idle_in_transaction_session_timeout = 0",
};

/// Receives the lines of a backup.
pub(super) type Sink<'a> = &'a mut (dyn FnMut(&str) -> StoreResult<()> + Send);

/// Begins a transaction that sees one state of the database.
pub(super) async fn begin_snapshot(pools: &Pools) -> StoreResult<DbConnection> {
    let mut db = pools.reader().await?;
    db.begin_read(BEGIN_SNAPSHOT).await?;
    Ok(db)
}

/// Ends the transaction.
pub(super) async fn end_snapshot(mut db: DbConnection) {
    if db.rollback().await.is_err() {
        db.close().await;
    }
}

/// Writes the whole store, and returns its summary.
pub(super) async fn dump_store(pools: &Pools, sink: Sink<'_>) -> StoreResult<StoreSummary> {
    let mut db = begin_snapshot(pools).await?;
    let result = dump_snapshot(&mut db, pools, sink).await;
    end_snapshot(db).await;
    result
}

async fn dump_snapshot(
    db: &mut DbConnection,
    pools: &Pools,
    sink: Sink<'_>,
) -> StoreResult<StoreSummary> {
    let Some(version) = schema::check_known(db, pools).await? else {
        let empty = format!("{} has no tables", pools.location.0);
        return Err(StoreError::Refused(empty));
    };
    sink(&json(&BackupHeader::new(version))?)?;
    let tables = schema::tables(&pools.migrations, version).await?;
    let end = dump_tables(db, &tables, sink).await?;
    sink(&json(&Trailer { end: end.clone() })?)?;
    Ok(end)
}

/// Writes these tables, and returns their summary.
pub(super) async fn dump_tables(
    db: &mut DbConnection,
    tables: &[TableSpec],
    sink: Sink<'_>,
) -> StoreResult<StoreSummary> {
    let mut summary = StoreSummary::default();
    for table in tables {
        let start = TableStart {
            table: table.name.clone(),
            columns: table
                .columns
                .iter()
                .map(|column| column.name.clone())
                .collect(),
            last_id: last_id(db, table).await?,
        };
        sink(&json(&start)?)?;
        let mut digest = RowDigest::default();
        let mut after: Option<Vec<Arg>> = None;
        loop {
            let rows = page(db, table, after.take()).await?;
            for row in &rows {
                let line = json(&values(row, &table.columns)?)?;
                digest.add(&line);
                sink(&line)?;
            }
            match rows.last() {
                Some(last) if rows.len() as i64 >= PAGE => after = Some(key(last, table)?),
                _ => break,
            }
        }
        summary.tables.insert(table.name.clone(), digest.summary());
    }
    Ok(summary)
}

/// Returns the rows after a key.
async fn page(
    db: &mut DbConnection,
    table: &TableSpec,
    after: Option<Vec<Arg>>,
) -> StoreResult<Vec<Row>> {
    let key: Vec<String> = table.key.iter().map(|name| quoted(name)).collect();
    let key = key.join(", ");
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| quoted(&column.name))
        .collect();
    let (mut condition, mut values) = (String::new(), args![PAGE]);
    if let Some(after) = after {
        let places: Vec<String> = (2..).take(after.len()).map(|at| format!("${at}")).collect();
        condition = format!("WHERE ({key}) > ({})", places.join(", "));
        values.extend(after);
    }
    let text = format!(
        "SELECT {} FROM {} {condition} ORDER BY {key} LIMIT $1",
        columns.join(", "),
        quoted(&table.name)
    );
    db.fetch_built(text, values).await
}

/// Returns the last id that the database assigned.
async fn last_id(db: &mut DbConnection, table: &TableSpec) -> StoreResult<Option<i64>> {
    let (Some(key), true) = (table.key.first(), table.assigns_ids) else {
        return Ok(None);
    };
    let name = &table.name;
    let text = if db.is_sqlite() {
        format!("SELECT coalesce(max(seq), 0) AS n FROM sqlite_sequence WHERE name = '{name}'")
    } else {
        let sequence = quoted(&format!("{name}_{key}_seq"));
        format!("SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS n FROM {sequence}")
    };
    let rows = db.fetch_built(text, args![]).await?;
    rows.first().map(|row| row.int("n")).transpose()
}

/// Returns the name of a table or column in a statement. All of them are Windlass's own.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

fn values(row: &Row, columns: &[ColumnSpec]) -> StoreResult<Vec<Value>> {
    let value = |column: &ColumnSpec| {
        Ok(if column.is_text {
            row.opt_text(&column.name)?.map_or(Value::Null, Value::from)
        } else {
            row.opt_int(&column.name)?.map_or(Value::Null, Value::from)
        })
    };
    columns.iter().map(value).collect()
}

fn key(row: &Row, table: &TableSpec) -> StoreResult<Vec<Arg>> {
    let of_key = |name: &&ColumnSpec| table.key.contains(&name.name);
    let is_text = |name: &String| {
        let mut columns = table.columns.iter().filter(of_key);
        columns.any(|column| column.name == *name && column.is_text)
    };
    let arg = |name: &String| {
        Ok(if is_text(name) {
            Arg::from(row.text(name)?)
        } else {
            Arg::from(row.int(name)?)
        })
    };
    table.key.iter().map(arg).collect()
}
