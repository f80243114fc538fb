//! Limited accounts of the in-memory store. Every attempt has called every account.

use std::time::Duration;

use windlass_core::Timestamp;
use windlass_tasks::{AccountLimit, AccountLimits, AttemptRef, NewAccountLimit, StoreFuture};

use super::memory::Now;
use super::store::SimStore;

/// A limit, with the time at which it ends.
#[derive(Debug)]
pub(crate) struct SimLimit {
    limit: NewAccountLimit,
    ends: Duration,
}

impl SimLimit {
    fn at(&self, now: Now) -> Option<AccountLimit> {
        let remaining = self.ends.checked_sub(now.steady)?;
        let millis = u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX);
        (!remaining.is_zero()).then(|| AccountLimit {
            account: self.limit.account.clone(),
            until: Timestamp(now.wall.0.saturating_add(millis)),
            remaining,
            reason: self.limit.reason.clone(),
        })
    }
}

impl AccountLimits for SimStore {
    fn limit_account(&self, limit: NewAccountLimit) -> StoreFuture<'_, ()> {
        self.call(move |memory, now| {
            let ends = now.steady + limit.wait;
            memory.limits.push(SimLimit { limit, ends });
            Ok(())
        })
    }

    fn clear_account_limit(&self, account: String) -> StoreFuture<'_, bool> {
        self.call(move |memory, _| {
            let before = memory.limits.len();
            memory.limits.retain(|one| one.limit.account != account);
            Ok(memory.limits.len() < before)
        })
    }

    fn account_limits(&self) -> StoreFuture<'_, Vec<AccountLimit>> {
        self.call(move |memory, now| {
            Ok(memory.limits.iter().filter_map(|one| one.at(now)).collect())
        })
    }

    fn agent_limit(&self, agent: String) -> StoreFuture<'_, Option<AccountLimit>> {
        self.call(move |memory, now| {
            let mut found = memory.limits.iter().filter(|one| one.limit.agent == agent);
            Ok(found.find_map(|one| one.at(now)))
        })
    }

    fn attempt_limit(&self, _: AttemptRef) -> StoreFuture<'_, Option<AccountLimit>> {
        self.call(move |memory, now| Ok(memory.limits.iter().find_map(|one| one.at(now))))
    }
}
