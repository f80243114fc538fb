//! Limited accounts.

use windlass_tasks::{AccountLimit, AccountLimits, AttemptRef, NewAccountLimit, StoreFuture};

use super::write::{operation, relaxed};
use crate::ops::account_limits;
use crate::store::SqlStore;
use crate::write_job::stages;

impl AccountLimits for SqlStore {
    fn limit_account(&self, limit: NewAccountLimit) -> StoreFuture<'_, ()> {
        self.write(
            relaxed(stages!("storing the limit of an account")),
            operation!(|db, limit| account_limits::limit(db, &limit)),
        )
    }

    fn clear_account_limit(&self, account: String) -> StoreFuture<'_, bool> {
        self.write(
            relaxed(stages!("clearing the limit of an account")),
            operation!(|db, account| account_limits::clear(db, &account)),
        )
    }

    fn account_limits(&self) -> StoreFuture<'_, Vec<AccountLimit>> {
        self.read("listing limited accounts", |db| {
            Box::pin(account_limits::all(db))
        })
    }

    fn agent_limit(&self, agent: String) -> StoreFuture<'_, Option<AccountLimit>> {
        self.read("reading the limit of an agent", move |db| {
            Box::pin(async move { account_limits::of_agent(db, &agent).await })
        })
    }

    fn attempt_limit(&self, attempt: AttemptRef) -> StoreFuture<'_, Option<AccountLimit>> {
        self.read("reading the limits of an attempt", move |db| {
            Box::pin(account_limits::of_attempt(db, attempt))
        })
    }
}
