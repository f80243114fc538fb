//! Limits on servers.

use std::time::Duration;

/// The maximum number of tools, and of resources, of one server.
pub(crate) const MAX_ITEMS: usize = 1_000;
/// The maximum size of a list of tools or resources, over all of its pages.
pub(crate) const LIST_BYTES: usize = 16 << 20;
/// How much of a server's stderr is stored.
pub(crate) const STDERR_BYTES: usize = 64 << 10;
/// How much of a server's stderr is repeated in an error.
pub(crate) const STDERR_TAIL: usize = 2 << 10;
/// The maximum run time of a server. A server runs as long as its session, which is shorter than a day.
pub(crate) const MAX_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The time limits of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpLimits {
    /// From the start until the tools and resources are listed.
    pub start: Duration,
    /// One call of a tool, or one read of a resource.
    pub call: Duration,
}

impl Default for McpLimits {
    /// Thirty seconds to start, one minute for a call.
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            call: Duration::from_secs(60),
        }
    }
}
