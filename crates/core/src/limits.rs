//! The limits on sizes and times.

use std::time::Duration;

/// The maximum length of a line of plain text. Longer lines are truncated.
pub const PLAIN_LINE_BYTES: usize = 1 << 20;
/// The maximum length of a line of a protocol. It is larger because a truncated JSON line loses an answer.
pub const PROTOCOL_LINE_BYTES: usize = 16 << 20;
/// The maximum size of an event sent by a handle. Longer strings in it are truncated and marked.
pub const EVENT_BYTES: usize = 256 << 10;
/// The maximum total size of all events of a turn.
pub const TURN_BYTES: u64 = 64 << 20;
/// The maximum stored output of one tool call or test run, from its head and tail.
pub const OUTPUT_BYTES: usize = 1 << 20;
/// The maximum size of a prompt.
pub const PROMPT_BYTES: usize = 16 << 20;
/// The number of events that are queued for a reader before the backend has to wait.
pub const EVENT_QUEUE: usize = 256;

/// How long an agent may take to end its processes. Each gets some seconds to exit before it is killed.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(30);

/// The limits on the start of a session and on one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// The time limit to start or resume a session.
    pub open: Duration,
    /// The time limit from prompt to terminal event.
    pub deadline: Duration,
    /// The time limit between two events. Time in which the reader blocks the backend does not count.
    pub stall: Option<Duration>,
    /// How long a backend may take to end a cancelled turn.
    pub grace: Duration,
    /// The maximum size of a single event.
    pub event_bytes: usize,
    /// The maximum total size of all events of the turn.
    pub turn_bytes: u64,
}

impl Default for TurnLimits {
    /// One minute to start a session, ten minutes for a turn, no stall limit, five seconds to stop.
    fn default() -> Self {
        Self {
            open: Duration::from_secs(60),
            deadline: Duration::from_secs(600),
            stall: None,
            grace: Duration::from_secs(5),
            event_bytes: EVENT_BYTES,
            turn_bytes: TURN_BYTES,
        }
    }
}
