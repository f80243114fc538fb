//! Limits of a request and its response.

use std::time::Duration;

use windlass_core::limits::TURN_BYTES;
use windlass_wire::{ErrorKind, ModelError};

/// Timeouts, the response size limit and the number of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// The connect timeout.
    pub connect: Duration,
    /// The idle timeout: before the first chunk of the response, and between two chunks.
    pub idle_timeout: Duration,
    /// The size limit of one response body.
    pub max_response_bytes: u64,
    /// How often a failed request is retried.
    pub retries: u32,
}

impl Default for HttpLimits {
    /// 10 s to connect, an idle timeout of 120 s, the size limit of a turn, and 2 retries.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(120),
            max_response_bytes: TURN_BYTES,
            retries: 2,
        }
    }
}

/// Builds the error of an idle timeout while waiting for `what`.
pub(super) fn idle_timeout_error(what: &str, after: Duration) -> ModelError {
    let seconds = after.as_secs_f64();
    let message = format!("no data from the model for {seconds} s while waiting for {what}");
    ModelError::new(ErrorKind::Timeout, message)
}
