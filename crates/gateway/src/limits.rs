//! Limits on concurrency, size and time.

use std::time::Duration;

/// Limits of the agent API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentApiLimits {
    /// The maximum number of concurrent requests. Further requests get 429 with Retry-After.
    pub concurrent: usize,
    /// The maximum size of a request body.
    pub body_bytes: usize,
    /// How long reading a body may take.
    pub body_time: Duration,
    /// How long a streamed response waits for its first chunk before the headers are sent. During this time
    /// an error still gets its own status.
    pub hold: Duration,
    /// The maximum idle time in a stream. After it a keep-alive is sent to the client.
    pub quiet: Duration,
}

impl Default for AgentApiLimits {
    /// 32 concurrent requests, 10 MiB within 30 seconds, 5 seconds for the first chunk, 10 seconds idle time.
    fn default() -> Self {
        Self {
            concurrent: 32,
            body_bytes: 10 << 20,
            body_time: Duration::from_secs(30),
            hold: Duration::from_secs(5),
            quiet: Duration::from_secs(10),
        }
    }
}
