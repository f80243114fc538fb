//! Accounts that their provider limits. Rows that have ended are removed when a new one is written.

use std::time::Duration;

use windlass_core::cut_middle;
use windlass_tasks::{
    AccountLimit, AttemptRef, MAX_ACCOUNT_LIMIT, MAX_LIMIT_REASON_BYTES, NewAccountLimit,
    StoreResult,
};

use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, sql};

/// Maximum number of limits in a list.
const MAX_ROWS: i64 = 1_000;

/// Selects limits that have not ended, with the database's time. `$1` is the longest wait: a later end is from before the
/// clock was set back.
macro_rules! limits {
    ($rest:literal) => {
        Sql {
            sqlite: limits!("CAST(unixepoch('subsec') * 1000 AS INTEGER)", $rest),
            postgres: limits!(
                "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
                $rest
            ),
        }
    };
    ($clock:literal, $rest:literal) => {
        concat!(
            "SELECT account, until, reason, clock.now AS now FROM account_limit, (SELECT ",
            $clock,
            " AS now) AS clock WHERE until > clock.now AND until <= clock.now + $1 ",
            $rest
        )
    };
}

pub(crate) async fn limit(db: &mut DbConnection, limit: &NewAccountLimit) -> StoreResult<()> {
    const ENDED: Sql = sql!("DELETE FROM account_limit WHERE until <= $1 OR until > $2");
    const LIMIT: Sql = sql!(
        "INSERT INTO account_limit (account, agent, until, reason) VALUES ($1, $2, $3, $4) ",
        "ON CONFLICT (account, agent) DO UPDATE SET until = excluded.until, reason = excluded.reason"
    );
    let now = db.now();
    db.execute(ENDED, args![now, now.saturating_add(longest())])
        .await?;
    let wait = limit.wait.min(MAX_ACCOUNT_LIMIT).as_millis();
    let until = now.saturating_add(i64::try_from(wait).unwrap_or(i64::MAX));
    let reason = cut_middle(limit.reason.clone(), MAX_LIMIT_REASON_BYTES);
    let (account, agent) = (limit.account.as_str(), limit.agent.as_str());
    db.execute(LIMIT, args![account, agent, until, reason])
        .await
}

pub(crate) async fn clear(db: &mut DbConnection, account: &str) -> StoreResult<bool> {
    const CLEAR: Sql = sql!("DELETE FROM account_limit WHERE account = $1 RETURNING account");
    let rows = db.fetch_returning(CLEAR, args![account]).await?;
    Ok(!rows.is_empty())
}

pub(crate) async fn all(db: &mut DbConnection) -> StoreResult<Vec<AccountLimit>> {
    const ALL: Sql = limits!("ORDER BY until DESC, account LIMIT $2");
    let rows = db.fetch_all(ALL, args![longest(), MAX_ROWS]).await?;
    let mut found: Vec<AccountLimit> = Vec::new();
    for row in &rows {
        let limit = from_row(row)?;
        if found.iter().all(|known| known.account != limit.account) {
            found.push(limit);
        }
    }
    Ok(found)
}

pub(crate) async fn of_agent(
    db: &mut DbConnection,
    agent: &str,
) -> StoreResult<Option<AccountLimit>> {
    const OF_AGENT: Sql = limits!(
        "AND agent = $2 AND account = COALESCE((SELECT c.account FROM model_call c WHERE c.agent = $2 ORDER BY c.id DESC LIMIT 1), \
         account) ORDER BY until DESC LIMIT 1"
    );
    let row = db.fetch_optional(OF_AGENT, args![longest(), agent]).await?;
    row.as_ref().map(from_row).transpose()
}

pub(crate) async fn of_attempt(
    db: &mut DbConnection,
    attempt: AttemptRef,
) -> StoreResult<Option<AccountLimit>> {
    const OF_ATTEMPT: Sql = limits!(
        "AND account = (SELECT c.account FROM model_call c WHERE c.task_id = $2 AND c.attempt = $3 ORDER BY c.id DESC LIMIT 1) \
         ORDER BY until LIMIT 1"
    );
    let values = args![longest(), attempt.task, attempt.number];
    let row = db.fetch_optional(OF_ATTEMPT, values).await?;
    row.as_ref().map(from_row).transpose()
}

/// The longest wait, in milliseconds.
fn longest() -> i64 {
    i64::try_from(MAX_ACCOUNT_LIMIT.as_millis()).unwrap_or(i64::MAX)
}

fn from_row(row: &Row) -> StoreResult<AccountLimit> {
    let until = row.int("until")?;
    let remaining = until.saturating_sub(row.int("now")?);
    Ok(AccountLimit {
        account: row.text("account")?,
        until: timestamp(until),
        remaining: Duration::from_millis(u64::try_from(remaining).unwrap_or_default()),
        reason: row.text("reason")?,
    })
}
