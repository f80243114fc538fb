//! Limits on everything that a client can make the server do.

use std::time::Duration;

/// Limits of the server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerLimits {
    /// The maximum number of open connections. A quarter of them is for clients that have not authenticated;
    /// when it is full, the oldest of these is closed.
    pub connections: usize,
    /// The maximum size of a request's first line and headers.
    pub head_bytes: usize,
    /// The maximum number of headers of a request.
    pub headers: usize,
    /// How long the headers may take to arrive; also how long an idle connection stays open.
    pub head_time: Duration,
    /// The maximum size of a request body.
    pub body_bytes: usize,
    /// The maximum size of a push to a repository of the server.
    pub push_bytes: u64,
    /// How long a body may take to arrive; of a fetch or a push, the next part of it.
    pub body_time: Duration,
    /// How long a response of the API may take.
    pub answer_time: Duration,
    /// The maximum number of events in the ring, for live subscribers.
    pub ring_events: usize,
    /// The maximum size of the events in the ring.
    pub ring_bytes: usize,
    /// How long a subscriber may be behind before it is closed.
    pub behind: Duration,
    /// The ping interval. A subscriber that sends nothing for three intervals is closed.
    pub ping: Duration,
    /// The maximum size of a message from a subscriber.
    pub frame_bytes: usize,
    /// The maximum number of messages from a subscriber per ping interval.
    pub frames: u32,
    /// How long a stop waits for active requests.
    pub grace: Duration,
    /// How often the server looks whether the files of its certificate have changed.
    pub certificate_check: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: 4096,
            head_bytes: 64 << 10,
            headers: 100,
            head_time: Duration::from_secs(10),
            body_bytes: 10 << 20,
            push_bytes: 1 << 30,
            body_time: Duration::from_secs(30),
            answer_time: Duration::from_secs(120),
            ring_events: 1024,
            ring_bytes: 16 << 20,
            behind: Duration::from_secs(30),
            ping: Duration::from_secs(20),
            frame_bytes: 16 << 10,
            frames: 200,
            grace: Duration::from_secs(5),
            certificate_check: Duration::from_secs(30),
        }
    }
}
