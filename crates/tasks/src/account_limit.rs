//! Accounts that their provider limits.

use std::time::Duration;

use windlass_core::Timestamp;

/// The longest time for which an account counts as limited. A provider's answer that says more is not believed.
pub const MAX_ACCOUNT_LIMIT: Duration = Duration::from_secs(8 * 24 * 3600);
/// Maximum size of the reason.
pub const MAX_LIMIT_REASON_BYTES: usize = 500;

/// A provider's answer that an account must wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAccountLimit {
    /// The account, as in [`CallLabels`](crate::CallLabels).
    pub account: String,
    /// The agent that got the answer.
    pub agent: String,
    /// How long the account must wait.
    pub wait: Duration,
    /// What the provider said.
    pub reason: String,
}

/// An account that must wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountLimit {
    /// The account.
    pub account: String,
    /// When the provider can be asked again.
    pub until: Timestamp,
    /// The time until then.
    pub remaining: Duration,
    /// What the provider said.
    pub reason: String,
}
