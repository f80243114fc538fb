//! The limit on everything, in one place.

use std::time::Duration;

/// The longest line of plain text kept whole.
pub const PLAIN_LINE_BYTES: usize = 1 << 20;
/// The longest line of a protocol kept whole: a cut JSON line loses an answer.
pub const PROTOCOL_LINE_BYTES: usize = 16 << 20;
/// The largest event that leaves a handle; longer strings in it are cut and marked.
pub const EVENT_BYTES: usize = 256 << 10;
/// What all events of one turn may add up to.
pub const TURN_BYTES: u64 = 64 << 20;
/// What is kept of one tool's or one test run's output, head and tail.
pub const OUTPUT_BYTES: usize = 1 << 20;
/// The largest prompt that is accepted.
pub const PROMPT_BYTES: usize = 16 << 20;
/// How many events may wait for a reader before the backend has to wait too.
pub const EVENT_QUEUE: usize = 256;

/// How long and how much a session's beginning and one turn may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// The time to begin or take up a session.
    pub open: Duration,
    /// The time from prompt to terminal event.
    pub deadline: Duration,
    /// The time between two events, while nobody keeps the backend waiting.
    pub stall: Option<Duration>,
    /// How long a backend may take to end a turn that was cancelled.
    pub grace: Duration,
    /// The largest single event.
    pub event_bytes: usize,
    /// All events of the turn together.
    pub turn_bytes: u64,
}

impl Default for TurnLimits {
    /// A minute to begin, ten for a turn, no stall clock, five seconds to stop.
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
