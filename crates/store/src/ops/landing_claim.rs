//! Claims the next entries of a landing queue.

use parking_lot::Mutex;
use windlass_tasks::{
    ClaimedLandings, Landing, LandingClaim, LandingId, LandingState, LandingToken, StoreResult,
};

use super::claim::millis;
use super::landings::{MAX_READ, from_row, landing_columns};
use super::leases::{LeaseWatch, StoredLease};
use crate::connection::DbConnection;
use crate::sql::{Sql, args, decode_error, or_zero, sql};

/// Maximum number of leases that are read per call.
const MAX_LEASES: u32 = 10_000;

pub(crate) async fn claim(
    db: &mut DbConnection,
    claim: &LandingClaim,
    watch: &Mutex<LeaseWatch<LandingId>>,
) -> StoreResult<Option<ClaimedLandings>> {
    const LOCK: Sql =
        sql!("SELECT value FROM counter WHERE name = 'landing'"; lock " FOR NO KEY UPDATE");
    const NEXT_TOKEN: Sql =
        sql!("UPDATE counter SET value = value + 1 WHERE name = 'landing' RETURNING value");
    const TAKE: Sql = sql!(
        "UPDATE landings SET state = 'landing', worker = $2, token = $3, lease_ms = $4, lease_until = $5, ",
        "lease_clock = $6, lease_beat = lease_beat + 1, lease_at = $7 WHERE id = $1"
    );
    db.fetch_all(LOCK, args![]).await?;
    end_expired(db, watch).await?;
    let mut entries = next_entries(db, claim).await?;
    if entries.is_empty() {
        return Ok(None);
    }
    let rows = db.fetch_returning(NEXT_TOKEN, args![]).await?;
    let Some(token) = rows
        .first()
        .map(|row| row.id::<LandingToken>("value"))
        .transpose()?
    else {
        return Err(decode_error("counter", "there is no row for landings"));
    };
    let lease = millis(claim.lease);
    for entry in &mut entries {
        let time = db.lease_time();
        let (until, clock) = (time.now + lease, time.clock.to_owned());
        let now = db.now();
        let worker = claim.worker.as_str();
        let values = args![entry.id, worker, token, lease, until, clock, now];
        db.execute(TAKE, values).await?;
        entry.state = LandingState::Landing;
        entry.worker = Some(claim.worker.clone());
        entry.waits_for = Vec::new();
    }
    Ok(Some(ClaimedLandings { token, entries }))
}

/// Returns `true` if an entry has not ended.
pub(crate) async fn any_open(db: &mut DbConnection) -> StoreResult<bool> {
    const OPEN: Sql = sql!("SELECT id FROM landings WHERE state IN ('queued', 'landing') LIMIT 1");
    Ok(db.fetch_optional(OPEN, args![]).await?.is_some())
}

/// Puts the entries with an expired lease back.
async fn end_expired(
    db: &mut DbConnection,
    watch: &Mutex<LeaseWatch<LandingId>>,
) -> StoreResult<()> {
    const HELD: Sql = sql!(
        "SELECT id, token AS attempt, lease_ms, lease_until, lease_clock, lease_beat, lease_at FROM landings ",
        "WHERE state = 'landing' ORDER BY id LIMIT $1"
    );
    const END: Sql = sql!(
        "UPDATE landings SET state = 'queued' WHERE id = $1 AND token = $2 AND lease_beat = $3 AND state = 'landing'"
    );
    let held = db.fetch_all(HELD, args![MAX_LEASES]).await?;
    let held: Vec<StoredLease<LandingId>> = held
        .iter()
        .map(StoredLease::from_row)
        .collect::<StoreResult<_>>()?;
    let expired = watch.lock().expired(held, db.lease_time());
    for lease in expired {
        db.execute(END, args![lease.id, lease.attempt, lease.beat])
            .await?;
    }
    Ok(())
}

/// Returns the next entries of the first queue that no worker has.
async fn next_entries(db: &mut DbConnection, claim: &LandingClaim) -> StoreResult<Vec<Landing>> {
    // If the branch of an entry may have moved, the entry is claimed whatever the status of its task is.
    const QUEUED: Sql = sql!(
        "SELECT landings.lease_at AS lease_at, ",
        landing_columns!(),
        " FROM landings JOIN task ON task.id = landings.task_id WHERE state = 'queued' ",
        "AND ($1 = 0 OR landings.project_id = $1) AND (intents <> '[]' OR (task.status = 'completed' ",
        "AND task.attempt = landings.attempt AND task.needs_review = 0 AND task.outdated = 0 ",
        "AND task.landed_commit IS NULL)) ",
        "AND NOT EXISTS (SELECT 1 FROM landings AS busy WHERE busy.state = 'landing' ",
        "AND busy.project_id = landings.project_id AND busy.target = landings.target) ",
        "ORDER BY landings.id LIMIT $2"
    );
    let rows = db
        .fetch_all(QUEUED, args![or_zero(claim.project_id), MAX_READ])
        .await?;
    let mut queued: Vec<(i64, Landing)> = Vec::new();
    for row in &rows {
        queued.push((row.int("lease_at")?, from_row(row)?.landing));
    }
    let is_wanted = |entry: &Landing| claim.tasks.is_empty() || claim.tasks.contains(&entry.task);
    // The queue that was not checked for the longest time: one that waits for a person does not delay the others.
    let is_next = |entry: &Landing| {
        is_wanted(entry) && (entry.waits_for.is_empty() || !entry.intents.is_empty())
    };
    let looked_at = |entry: &Landing| {
        let queue = queued.iter().filter(|(_, one)| is_same_queue(one, entry));
        queue.map(|(at, _)| *at).max()
    };
    let next = queued
        .iter()
        .filter(|(_, entry)| is_next(entry))
        .min_by_key(|(_, entry)| (looked_at(entry), entry.id));
    let Some((_, next)) = next else {
        return Ok(Vec::new());
    };
    let mut entries: Vec<Landing> = Vec::new();
    for (_, entry) in &queued {
        let is_ready = entry
            .waits_for
            .iter()
            .all(|on| entries.iter().any(|taken| taken.task == *on));
        // What may have landed already is checked alone.
        let is_alone = !entry.intents.is_empty();
        let can_join = entries.is_empty() || (!is_alone && entries[0].intents.is_empty());
        let is_candidate = is_wanted(entry) && is_same_queue(entry, next);
        if is_candidate && can_join && (is_ready || is_alone) {
            entries.push(entry.clone());
        }
        if entries.len() >= usize::try_from(claim.max.max(1)).unwrap_or(1) {
            break;
        }
    }
    Ok(entries)
}

/// Returns `true` if both entries are for the same branch of the same project.
fn is_same_queue(one: &Landing, other: &Landing) -> bool {
    (one.project_id, &one.target) == (other.project_id, &other.target)
}
