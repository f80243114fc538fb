//! The audit log.

use windlass_tasks::{
    AuditEntry, AuditFilter, AuditId, MAX_AUDIT_ENTRIES, MAX_AUDIT_PAGE, MAX_AUDIT_TEXT_BYTES,
    NewAuditEntry, StoreResult,
};

use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, sql};

/// After how many new entries the oldest ones are removed.
const REMOVE_INTERVAL: i64 = 1_000;

/// The columns of an entry.
macro_rules! columns {
    () => {
        "id, at, actor, source, action, subject, result, request"
    };
}

fn entry(row: &Row) -> StoreResult<AuditEntry> {
    Ok(AuditEntry {
        id: row.id("id")?,
        at: timestamp(row.int("at")?),
        actor: row.text("actor")?,
        source: row.text("source")?,
        action: row.text("action")?,
        subject: row.text("subject")?,
        result: row.text("result")?,
        request: row.text("request")?,
    })
}

/// Returns a text within its limit.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_AUDIT_TEXT_BYTES)]
}

pub(crate) async fn append(db: &mut DbConnection, new: &NewAuditEntry) -> StoreResult<()> {
    const ADD: Sql = sql!(
        "INSERT INTO audit (at, actor, source, action, subject, result, request) ",
        "VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id"
    );
    const REMOVE: Sql = sql!("DELETE FROM audit WHERE id <= $1");
    let now = db.now();
    let values = args![
        now,
        cut(&new.actor),
        cut(&new.source),
        cut(&new.action),
        cut(&new.subject),
        cut(&new.result),
        cut(&new.request)
    ];
    let added = db.fetch_returning(ADD, values).await?;
    let id = match added.first() {
        Some(row) => row.int("id")?,
        None => 0,
    };
    if id % REMOVE_INTERVAL == 0 {
        let kept = i64::try_from(MAX_AUDIT_ENTRIES).unwrap_or(i64::MAX);
        db.execute(REMOVE, args![id.saturating_sub(kept)]).await?;
    }
    Ok(())
}

pub(crate) async fn list(
    db: &mut DbConnection,
    filter: AuditFilter,
) -> StoreResult<Vec<AuditEntry>> {
    const ALL: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM audit WHERE id < $1 ORDER BY id DESC LIMIT $2"
    );
    const OF_ACTOR: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM audit WHERE id < $1 AND actor = $3 ORDER BY id DESC LIMIT $2"
    );
    let before = filter.before.map_or(i64::MAX, AuditId::get);
    let limit = filter.limit.min(MAX_AUDIT_PAGE);
    let rows = match filter.actor.as_deref() {
        Some(actor) => db.fetch_all(OF_ACTOR, args![before, limit, actor]).await?,
        None => db.fetch_all(ALL, args![before, limit]).await?,
    };
    rows.iter().map(entry).collect()
}
