//! Limited accounts.

use super::error::StoreFuture;
use crate::account_limit::{AccountLimit, NewAccountLimit};
use crate::id::AttemptRef;

/// Stores which accounts their provider limits, for all processes that use them.
pub trait AccountLimits: Send + Sync {
    /// Stores that an account must wait. The newest answer for an agent replaces the one before.
    fn limit_account(&self, limit: NewAccountLimit) -> StoreFuture<'_, ()>;
    /// Forgets the limits of an account. Returns `false` if it has none.
    fn clear_account_limit(&self, account: String) -> StoreFuture<'_, bool>;
    /// Returns the accounts that must wait now, the one with the longest wait first.
    fn account_limits(&self) -> StoreFuture<'_, Vec<AccountLimit>>;
    /// Returns the limit of the account that this agent called last, if it must still wait.
    fn agent_limit(&self, agent: String) -> StoreFuture<'_, Option<AccountLimit>>;
    /// Returns the limit of the account that an attempt called last, if it must still wait.
    fn attempt_limit(&self, attempt: AttemptRef) -> StoreFuture<'_, Option<AccountLimit>>;
}
