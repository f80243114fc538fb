//! Decides which leases have expired, without the wall clock.
//!
//! A lease names the clock that its end refers to. A process that has the same clock compares. Any other process
//! must have seen the lease unchanged for its whole length on its own clock: a worker on another machine, or one
//! from before a restart of this machine, cannot be asked.

use std::collections::HashMap;
use std::hash::Hash;

use windlass_tasks::StoreResult;

use crate::lease_clock::LeaseTime;
use crate::sql::Row;

/// How far the database's clock may drift from the own clock between two calls without counting as a jump.
const MAX_DRIFT_MS: i64 = 100;

/// A stored lease of a task or of a landing. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredLease<Id> {
    /// What is leased.
    pub(crate) id: Id,
    /// The number of the attempt, or the token of the landing.
    pub(crate) attempt: i64,
    /// Grows with each renewal.
    pub(crate) beat: i64,
    length: i64,
    /// The end, by the clock of this id.
    until: i64,
    clock: String,
    /// The last renewal, by the database's clock.
    renewed_at: i64,
}

impl<Id: From<i64>> StoredLease<Id> {
    pub(crate) fn from_row(row: &Row) -> StoreResult<Self> {
        Ok(Self {
            id: row.id("id")?,
            attempt: row.int("attempt")?,
            beat: row.int("lease_beat")?,
            length: row.int("lease_ms")?,
            until: row.int("lease_until")?,
            clock: row.text("lease_clock")?,
            renewed_at: row.int("lease_at")?,
        })
    }
}

/// What a process remembers of the leases that it cannot compare with its clock.
#[derive(Debug)]
pub(crate) struct LeaseWatch<Id> {
    seen: HashMap<Id, Sighting>,
    /// The own clock at the previous call, and its distance to the database's clock.
    previous: Option<(i64, i64)>,
}

/// A renewal that was seen, and since when nothing has changed.
#[derive(Debug, Clone, Copy)]
struct Sighting {
    attempt: i64,
    beat: i64,
    since: i64,
}

impl<Id> Default for LeaseWatch<Id> {
    fn default() -> Self {
        Self {
            seen: HashMap::new(),
            previous: None,
        }
    }
}

impl<Id: Copy + Eq + Hash> LeaseWatch<Id> {
    /// Returns the leases that have certainly expired. The caller passes all leases that are held.
    pub(crate) fn expired(
        &mut self,
        leases: Vec<StoredLease<Id>>,
        time: LeaseTime<'_>,
    ) -> Vec<StoredLease<Id>> {
        let offset = time.database - time.now;
        let steady_since = self
            .previous
            .filter(|(_, previous)| (offset - previous).abs() <= MAX_DRIFT_MS)
            .map(|(at, _)| at);
        let mut seen = HashMap::new();
        let mut expired = Vec::new();
        for lease in leases {
            let is_over = if lease.clock == time.clock {
                lease.until < time.now
            } else {
                let sighting = self.sighting(&lease, time, steady_since);
                seen.insert(lease.id, sighting);
                time.now - sighting.since > lease.length
            };
            if is_over {
                expired.push(lease);
            }
        }
        self.seen = seen;
        self.previous = Some((time.now, offset));
        expired
    }

    fn sighting(
        &self,
        lease: &StoredLease<Id>,
        time: LeaseTime<'_>,
        steady_since: Option<i64>,
    ) -> Sighting {
        if let Some(known) = self.seen.get(&lease.id)
            && (known.attempt, known.beat) == (lease.attempt, lease.beat)
        {
            return *known;
        }
        // The renewal happened after the previous call. If the database's clock has not jumped since, it says when.
        let since = match steady_since {
            Some(previous) => {
                let age = time.database.saturating_sub(lease.renewed_at);
                time.now
                    .saturating_sub(age)
                    .clamp(previous.min(time.now), time.now)
            }
            None => time.now,
        };
        Sighting {
            attempt: lease.attempt,
            beat: lease.beat,
            since,
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_tasks::TaskId;

    use super::*;

    const LENGTH: i64 = 30_000;
    const HOUR: i64 = 3_600_000;
    const TEN_YEARS: i64 = 10 * 365 * 24 * HOUR;

    fn lease(clock: &str, beat: i64, renewed_at: i64) -> StoredLease<TaskId> {
        StoredLease {
            id: TaskId::from(1),
            attempt: 1,
            beat,
            length: LENGTH,
            until: 0,
            clock: clock.to_owned(),
            renewed_at,
        }
    }

    fn time(now: i64, database: i64) -> LeaseTime<'static> {
        LeaseTime {
            clock: "here",
            now,
            database,
        }
    }

    #[test]
    fn same_clock_is_compared() {
        let held = StoredLease {
            until: LENGTH,
            ..lease("here", 1, 0)
        };
        let mut watch = LeaseWatch::default();
        assert_eq!(watch.expired(vec![held.clone()], time(LENGTH, 0)), []);
        let over = watch.expired(vec![held.clone()], time(LENGTH + 1, 0));
        assert_eq!(over, [held]);
    }

    #[test]
    fn p2_other_clock_is_watched_for_one_lease_after_the_renewal() {
        // A call every 5 s, a last renewal 1 s after the second call: it expires one lease after the renewal.
        let mut watch = LeaseWatch::default();
        let database = 1_000_000;
        let first = lease("there", 1, database);
        assert_eq!(watch.expired(vec![first.clone()], time(0, database)), []);
        assert_eq!(
            watch.expired(vec![first], time(5_000, database + 5_000)),
            []
        );
        let last = lease("there", 2, database + 6_000);
        for at in (10_000..=36_000).step_by(1_000) {
            let found = watch.expired(vec![last.clone()], time(at, database + at));
            assert_eq!(found, [], "{at}");
        }
        let found = watch.expired(vec![last.clone()], time(36_001, database + 36_001));
        assert_eq!(found, [last]);
    }

    #[test]
    fn p8_jumps_of_the_database_clock_do_not_matter() {
        for jump in [HOUR, -HOUR, TEN_YEARS, -TEN_YEARS] {
            let mut watch = LeaseWatch::default();
            let database = TEN_YEARS * 5;
            let mut beat = 0;
            // A worker renews every 10 s, and the clock jumps in the middle.
            for at in (0..200_000).step_by(5_000) {
                let database = database + at + if at >= 100_000 { jump } else { 0 };
                beat += i64::from(at % 10_000 == 0);
                let held = lease("there", beat, database - at % 10_000);
                assert_eq!(watch.expired(vec![held], time(at, database)), [], "{jump}");
            }
            // It stops: reclaimed one lease after its last renewal was seen.
            let last = lease("there", beat, database + 190_000 + jump);
            let still = time(220_000, database + 220_000 + jump);
            assert_eq!(watch.expired(vec![last.clone()], still), []);
            let over = time(225_001, database + 225_001 + jump);
            assert_eq!(watch.expired(vec![last.clone()], over), [last], "{jump}");
        }
    }

    #[test]
    fn first_call_of_a_process_reclaims_nothing_of_another_clock() {
        let mut watch = LeaseWatch::default();
        let old = lease("before the restart", 9, 0);
        assert_eq!(watch.expired(vec![old.clone()], time(0, TEN_YEARS)), []);
        assert_eq!(watch.expired(vec![old.clone()], time(LENGTH, 0)), []);
        let over = watch.expired(vec![old.clone()], time(LENGTH + 1, 0));
        assert_eq!(over, [old]);
    }
}
