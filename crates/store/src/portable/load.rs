//! Writes a backup into an empty store, in one transaction, and compares the result with the summary of the backup.

use std::io::{BufRead, Read as _};

use windlass_tasks::{StoreError, StoreResult};

use super::dump::{dump_tables, quoted};
use super::format::{Line, StoreSummary, TableStart, parse_line};
use crate::connection::DbConnection;
use crate::pools::Pools;
use crate::schema::{self, TableSpec};
use crate::sql::args;

/// The maximum size of a line.
const MAX_LINE_BYTES: u64 = 256 << 20;
/// How many rows, and about how many bytes, are written at a time.
const MAX_BATCH_ROWS: usize = 500;
const MAX_BATCH_BYTES: usize = 4 << 20;

/// The lines of a backup.
pub(super) struct BackupLines<R> {
    reader: R,
    number: u64,
}

impl<R: BufRead> BackupLines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, number: 0 }
    }

    fn next(&mut self, table: Option<&TableSpec>) -> StoreResult<Line> {
        self.number += 1;
        let mut text = String::new();
        let limited = &mut (&mut self.reader).take(MAX_LINE_BYTES);
        let read = limited.read_line(&mut text);
        let read = read.map_err(|error| self.invalid(&error.to_string()))?;
        if read == 0 {
            return Err(self.invalid("the backup is incomplete"));
        }
        parse_line(text.trim_end_matches('\n'), table).map_err(|why| self.invalid(&why))
    }

    fn invalid(&self, why: &str) -> StoreError {
        StoreError::Refused(format!("line {} of the backup: {why}", self.number))
    }
}

/// Writes a backup into a store without data.
pub(super) async fn load_store<R: BufRead + Send>(
    pools: &Pools,
    lines: BackupLines<R>,
) -> StoreResult<StoreSummary> {
    let mut db = pools.writer().await.map_err(|failed| failed.error)?;
    pools.begin_migration(&mut db).await?;
    let loaded = match load_all(&mut db, pools, lines).await {
        Ok(summary) => db.commit().await.map(|()| summary),
        error => error,
    };
    if loaded.is_err() && db.rollback().await.is_err() {
        db.close().await;
    }
    loaded
}

async fn load_all<R: BufRead + Send>(
    db: &mut DbConnection,
    pools: &Pools,
    mut lines: BackupLines<R>,
) -> StoreResult<StoreSummary> {
    let Line::Header(header) = lines.next(None)? else {
        return Err(lines.invalid("expected the header of a backup"));
    };
    schema::create_empty(db, pools, header.schema).await?;
    let tables = schema::tables(&pools.migrations, header.schema).await?;
    clear(db, pools, &tables).await?;
    let mut next = lines.next(None)?;
    let expected = loop {
        next = match next {
            Line::Table(start) => {
                let table = tables.iter().find(|table| table.name == start.table);
                let table = table.ok_or_else(|| lines.invalid("an unknown table"))?;
                let columns = table.columns.iter().map(|column| &column.name);
                if !columns.eq(&start.columns) {
                    return Err(lines.invalid("the table has other columns"));
                }
                load_table(db, table, &start, &mut lines).await?
            }
            Line::End(trailer) => break trailer.end,
            Line::Header(_) | Line::Row(_) => return Err(lines.invalid("unexpected line")),
        };
    };
    let found = dump_tables(db, &tables, &mut |_| Ok(())).await?;
    if found != expected {
        return Err(lines.invalid("the rows do not match the summary of the backup"));
    }
    schema::migrate_from(db, pools, header.schema).await?;
    Ok(found)
}

/// Removes the rows that a new store has. Refuses a store with others.
async fn clear(db: &mut DbConnection, pools: &Pools, tables: &[TableSpec]) -> StoreResult<()> {
    for table in tables.iter().rev() {
        let name = quoted(&table.name);
        if table.name == "counter" {
            db.fetch_built(format!("DELETE FROM {name}"), args![])
                .await?;
            continue;
        }
        let found = format!("SELECT 1 AS n FROM {name} LIMIT 1");
        if !db.fetch_built(found, args![]).await?.is_empty() {
            return Err(StoreError::Refused(format!(
                "{} is not empty: a backup is restored into a new store only",
                pools.location.0
            )));
        }
    }
    Ok(())
}

/// Writes the rows of a table, and returns the line after them.
async fn load_table<R: BufRead>(
    db: &mut DbConnection,
    table: &TableSpec,
    start: &TableStart,
    lines: &mut BackupLines<R>,
) -> StoreResult<Line> {
    let statement = insert(db, table);
    let (mut batch, mut count) = (String::new(), 0);
    let next = loop {
        match lines.next(Some(table))? {
            Line::Row(row) => {
                batch.push(if count == 0 { '[' } else { ',' });
                batch.push_str(&row);
                count += 1;
            }
            next => break next,
        }
        if count >= MAX_BATCH_ROWS || batch.len() >= MAX_BATCH_BYTES {
            write_batch(db, &statement, &mut batch).await?;
            count = 0;
        }
    };
    write_batch(db, &statement, &mut batch).await?;
    if let Some(last_id) = start.last_id {
        set_last_id(db, table, last_id).await?;
    }
    Ok(next)
}

/// Returns the statement that inserts rows. Its argument is a JSON array of them.
fn insert(db: &DbConnection, table: &TableSpec) -> String {
    let is_sqlite = db.is_sqlite();
    let names: Vec<String> = table
        .columns
        .iter()
        .map(|column| quoted(&column.name))
        .collect();
    let values = table.columns.iter().enumerate().map(|(at, column)| {
        if is_sqlite {
            format!("json_extract(value, '$[{at}]')")
        } else if column.is_text {
            format!("r->>{at}")
        } else {
            format!("CAST(r->>{at} AS BIGINT)")
        }
    });
    let values: Vec<String> = values.collect();
    let source = if is_sqlite {
        "json_each($1)"
    } else {
        "json_array_elements(CAST($1 AS json)) AS r"
    };
    format!(
        "INSERT INTO {} ({}) SELECT {} FROM {source}",
        quoted(&table.name),
        names.join(", "),
        values.join(", ")
    )
}

async fn write_batch(
    db: &mut DbConnection,
    statement: &str,
    batch: &mut String,
) -> StoreResult<()> {
    if batch.is_empty() {
        return Ok(());
    }
    let mut rows = std::mem::take(batch);
    rows.push(']');
    db.fetch_built(statement.to_owned(), args![rows])
        .await
        .map(drop)
}

/// Makes the database assign ids after this one.
async fn set_last_id(db: &mut DbConnection, table: &TableSpec, last: i64) -> StoreResult<()> {
    let (Some(key), true) = (table.key.first(), table.assigns_ids && last > 0) else {
        return Ok(());
    };
    let name = &table.name;
    if !db.is_sqlite() {
        let sequence = format!("windlass.{name}_{key}_seq");
        let set = format!("SELECT setval('{sequence}', $1) AS n");
        return db.fetch_built(set, args![last]).await.map(drop);
    }
    let update = format!("UPDATE sqlite_sequence SET seq = $1 WHERE name = '{name}'");
    db.fetch_built(update, args![last]).await?;
    let add = format!(
        "INSERT INTO sqlite_sequence (name, seq) SELECT '{name}', $1 \
         WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '{name}')"
    );
    db.fetch_built(add, args![last]).await.map(drop)
}
