//! How long and how much a server may take.

use std::time::Duration;

/// How many tools, and how many resources, one server may list.
pub(crate) const MAX_ITEMS: usize = 1_000;
/// What a list of tools or of resources may add up to, over all of its pages.
pub(crate) const LIST_BYTES: usize = 16 << 20;
/// What is kept of a server's standard error, and what of that an error repeats.
pub(crate) const STDERR_BYTES: usize = 64 << 10;
pub(crate) const STDERR_TAIL: usize = 2 << 10;
/// A server lives as long as its session; a day is longer than any.
pub(crate) const MAX_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a server may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpLimits {
    /// The time from its start until its tools and resources are listed.
    pub start: Duration,
    /// The time for one call of a tool or one read of a resource.
    pub call: Duration,
}

impl Default for McpLimits {
    /// Thirty seconds to start, a minute for a call.
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            call: Duration::from_secs(60),
        }
    }
}
