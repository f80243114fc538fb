//! What goes wrong on purpose.

use serde::{Deserialize, Serialize};

/// A failure that the script asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Fault {
    /// The model refuses with this status.
    Status(ErrorStatus),
    /// The conversation is too long for the model.
    ContextOverflow,
    /// Nothing comes at all, not even the beginning of an answer.
    Hang,
    /// The answer begins with the turn's parts, and then nothing comes any more.
    HangMidStream,
    /// The answer begins with the turn's parts, and then the connection is gone.
    Cut,
    /// The answer begins with the turn's parts, and then comes something that is not what it should be.
    Malformed,
}

impl Fault {
    /// Whether parts of an answer may come before it.
    pub fn comes_after_parts(&self) -> bool {
        matches!(self, Self::HangMidStream | Self::Cut | Self::Malformed)
    }
}

/// A status other than 200, and what comes with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorStatus {
    /// The status: 401, 403, 429, 500, 503, 529 or any other from 400 on.
    pub code: u16,
    /// How long the model asks to wait, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_secs: Option<u64>,
    /// What the model says; a sentence that fits the status by default.
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
