//! Injected faults.

use serde::{Deserialize, Serialize};

/// A fault that the script injects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Fault {
    /// The model responds with this error status.
    Status(ErrorStatus),
    /// The conversation is too long for the model.
    ContextOverflow,
    /// Nothing is sent, not even the start of a response.
    Hang,
    /// The response starts with the turn's parts, and then nothing more is sent.
    HangMidStream,
    /// The response starts with the turn's parts, and then the connection is closed.
    Cut,
    /// The response starts with the turn's parts, and then a malformed frame is sent.
    Malformed,
}

impl Fault {
    /// Returns `true` if parts of an answer may precede the fault.
    pub fn comes_after_parts(&self) -> bool {
        matches!(self, Self::HangMidStream | Self::Cut | Self::Malformed)
    }
}

/// An error status with its details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorStatus {
    /// The status: 401, 403, 429, 500, 503, 529 or any other from 400 on.
    pub code: u16,
    /// The Retry-After time in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_secs: Option<u64>,
    /// The error message; by default one that matches the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl From<u16> for ErrorStatus {
    fn from(code: u16) -> Self {
        Self {
            code,
            retry_after_secs: None,
            message: None,
        }
    }
}
