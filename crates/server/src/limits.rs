//! A limit on everything that a client can make the server do.

use std::time::Duration;

/// How much the server takes from anybody.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerLimits {
    /// How many connections may be open at once. Further ones wait to be accepted.
    pub connections: usize,
    /// The longest head of a request: its first line and its headers.
    pub head_bytes: usize,
    /// The most headers of a request.
    pub headers: usize,
    /// How long a head may take to arrive; also how long an unused connection is kept.
    pub head_time: Duration,
    /// The longest body of a request.
    pub body_bytes: usize,
    /// How long a body may take to arrive.
    pub body_time: Duration,
    /// How long an answer of the API may take to be made.
    pub answer_time: Duration,
    /// How many messages are kept for those who read live.
    pub ring_events: usize,
    /// How many bytes of messages are kept for them.
    pub ring_bytes: usize,
    /// How long a reader may be behind before it is closed.
    pub behind: Duration,
    /// How often a reader is asked whether it is still there. One that is silent for three times as long is closed.
    pub ping: Duration,
    /// The longest message that a reader may send.
    pub frame_bytes: usize,
    /// How many messages a reader may send within one ping's time.
    pub frames: u32,
    /// How long a stop waits for what is under way.
    pub grace: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: 4096,
            head_bytes: 64 << 10,
            headers: 100,
            head_time: Duration::from_secs(30),
            body_bytes: 10 << 20,
            body_time: Duration::from_secs(30),
            answer_time: Duration::from_secs(120),
            ring_events: 1024,
            ring_bytes: 16 << 20,
            behind: Duration::from_secs(30),
            ping: Duration::from_secs(20),
            frame_bytes: 16 << 10,
            frames: 200,
            grace: Duration::from_secs(5),
        }
    }
}
