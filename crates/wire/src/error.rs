//! What can go wrong: bytes that do not fit, and failures that a provider reports.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bytes that are not what their API says they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// They are not JSON at all.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// The JSON is nested deeper than anyone means it.
    #[error("JSON nested more than {limit} deep")]
    TooDeep {
        /// How deep it may be.
        limit: usize,
    },
    /// One event of a stream is longer than anyone means it.
    #[error("a stream event of more than {limit} bytes")]
    TooLong {
        /// How long it may be.
        limit: usize,
    },
    /// A field is missing or holds something else.
    #[error("{path}: {problem}")]
    Field {
        /// Where it stands, such as `messages[2].content`.
        path: String,
        /// What was expected, what was found.
        problem: String,
    },
}

/// What kind of failure a provider reports, the same word for every API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is wrong and will stay so.
    InvalidRequest,
    /// The key is missing or refused.
    Authentication,
    /// The key is good, but not for this.
    Permission,
    /// No such model, or no such address.
    NotFound,
    /// The request is too many bytes.
    TooLarge,
    /// The conversation is too many tokens for the model.
    ContextOverflow,
    /// Too many requests; wait.
    RateLimited,
    /// The money or the day's allowance is used up; waiting a moment does not help.
    QuotaExhausted,
    /// The provider has too much to do; wait.
    Overloaded,
    /// The provider failed.
    Server,
    /// The provider gave up waiting.
    Timeout,
    /// The provider sent what its API does not allow.
    Protocol,
    /// The stream broke off.
    #[serde(rename = "cut")]
    Interrupted,
}

impl ErrorKind {
    /// The HTTP status that says this best.
    pub fn status(self) -> u16 {
        match self {
            Self::InvalidRequest | Self::ContextOverflow => 400,
            Self::Authentication => 401,
            Self::Permission => 403,
            Self::NotFound => 404,
            Self::TooLarge => 413,
            Self::RateLimited | Self::QuotaExhausted => 429,
            Self::Server => 500,
            Self::Protocol | Self::Interrupted => 502,
            Self::Overloaded => 503,
            Self::Timeout => 504,
        }
    }

    /// The kind that a status alone suggests.
    pub fn from_status(status: u16) -> Self {
        match status {
            401 => Self::Authentication,
            402 => Self::QuotaExhausted,
            403 => Self::Permission,
            404 => Self::NotFound,
            408 | 504 => Self::Timeout,
            413 => Self::TooLarge,
            429 => Self::RateLimited,
            503 | 529 => Self::Overloaded,
            400..=499 => Self::InvalidRequest,
            _ => Self::Server,
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_transient(self) -> bool {
        use ErrorKind::{Interrupted, Overloaded, Protocol, RateLimited, Server, Timeout};
        matches!(
            self,
            RateLimited | Overloaded | Server | Timeout | Protocol | Interrupted
        )
    }
}

/// A failure as a provider reports it, in a status and a body or inside a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What kind of failure.
    pub kind: ErrorKind,
    /// The HTTP status; inside a stream, the one it would have had.
    pub status: u16,
    /// What the provider says.
    pub message: String,
    /// The provider's own word for it, such as `insufficient_quota`.
    pub code: Option<String>,
    /// How long the provider asks us to wait.
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// A failure with the status that fits its kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: kind.status(),
            message: message.into(),
            code: None,
            retry_after: None,
        }
    }

    /// The same with a waiting time.
    #[must_use]
    pub fn with_retry_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    /// A provider that sent what its API does not allow.
    pub(crate) fn protocol(problem: impl std::fmt::Display) -> Self {
        Self::new(
            ErrorKind::Protocol,
            format!("the provider's answer makes no sense: {problem}"),
        )
    }

    /// A stream that ended before the answer did.
    pub(crate) fn interrupted() -> Self {
        Self::new(
            ErrorKind::Interrupted,
            "the stream ended before the answer was complete",
        )
    }
}

/// A request that does not fit is the client's mistake.
impl From<WireError> for ModelError {
    fn from(error: WireError) -> Self {
        Self::new(ErrorKind::InvalidRequest, error.to_string())
    }
}

/// A failure ready for HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorResponse {
    /// The status line.
    pub status: u16,
    /// Headers beyond the content type, which is JSON.
    pub headers: Vec<(&'static str, String)>,
    /// The body in the API's own form.
    pub body: Vec<u8>,
}

/// The waiting time in a reply's headers, where it is a number; a date would need a clock.
pub(crate) fn retry_after(headers: &[(&str, &str)]) -> Option<Duration> {
    let number = |name: &str| {
        let found = headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| value.trim().parse::<f64>().ok())
    };
    let seconds = number("retry-after-ms")
        .map(|ms| ms / 1000.0)
        .or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The header for a waiting time, in whole seconds and never too short.
pub(crate) fn retry_header(error: &ModelError) -> Vec<(&'static str, String)> {
    let seconds = |d: Duration| d.as_secs() + u64::from(d.subsec_nanos() > 0);
    error
        .retry_after
        .map(|after| ("retry-after", seconds(after).to_string()))
        .into_iter()
        .collect()
}

/// A failure whose body is not the API's: a proxy's page, or nothing.
pub(crate) fn from_text(status: u16, body: &[u8]) -> ModelError {
    const MAX_BODY_EXCERPT: usize = 400;
    let text: String = String::from_utf8_lossy(body)
        .trim()
        .chars()
        .take(MAX_BODY_EXCERPT)
        .collect();
    let message = if text.is_empty() {
        format!("the provider answered with status {status} and nothing else")
    } else {
        text
    };
    ModelError {
        status,
        ..ModelError::new(ErrorKind::from_status(status), message)
    }
}
