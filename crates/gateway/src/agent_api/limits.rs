//! How much at once, how large, how long.

use std::time::Duration;

/// What the front allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentApiLimits {
    /// How many requests are answered at once; one more is told to come back.
    pub concurrent: usize,
    /// The largest body of a request.
    pub body_bytes: usize,
    /// How long a body may take to come.
    pub body_time: Duration,
    /// How long a streamed answer waits for its first piece before it begins: so long a failure still has its own status.
    pub hold: Duration,
    /// The longest silence in a stream; after it the client is told that somebody is still there.
    pub quiet: Duration,
}

impl Default for AgentApiLimits {
    /// 32 at once, 10 MiB within half a minute, five seconds for the first piece, ten of silence.
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
