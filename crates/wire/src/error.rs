//! Errors: malformed bytes, and errors reported by a provider.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bytes that do not match the format of their API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes are not valid JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// The JSON is nested deeper than the limit.
    #[error("JSON nested more than {limit} levels deep")]
    TooDeep {
        /// The maximum depth.
        limit: usize,
    },
    /// One event of a stream is longer than the limit.
    #[error("stream event longer than {limit} bytes")]
    TooLong {
        /// The maximum length.
        limit: usize,
    },
    /// A field is missing or has the wrong type or value.
    #[error("{path}: {problem}")]
    Field {
        /// The path of the field, such as `messages[2].content`.
        path: String,
        /// The problem, such as the expected and the found type.
        problem: String,
    },
}

/// The kind of an error reported by a provider, with one name for all APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is invalid. A retry fails too.
    InvalidRequest,
    /// The key is missing or was rejected.
    Authentication,
    /// The key is valid but lacks the permission.
    Permission,
    /// The model or the URL does not exist.
    NotFound,
    /// The request has too many bytes.
    TooLarge,
    /// The conversation has too many tokens for the model.
    ContextOverflow,
    /// Too many requests. Retry later.
    RateLimited,
    /// The credit or the daily quota is exhausted. A retry after a short time does not help.
    QuotaExhausted,
    /// The provider is overloaded. Retry later.
    Overloaded,
    /// The provider failed.
    Server,
    /// The provider timed out.
    Timeout,
    /// The provider sent a response that its API does not allow.
    Protocol,
    /// The stream ended early.
    #[serde(rename = "cut")]
    Interrupted,
}

impl ErrorKind {
    /// Returns the HTTP status that matches the kind best.
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

    /// Returns the kind that a status alone suggests.
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

    /// Returns `true` if the same request may succeed later.
    pub fn is_transient(self) -> bool {
        use ErrorKind::{Interrupted, Overloaded, Protocol, RateLimited, Server, Timeout};
        matches!(
            self,
            RateLimited | Overloaded | Server | Timeout | Protocol | Interrupted
        )
    }
}

/// An error reported by a provider, with a status and a body or inside a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The HTTP status; inside a stream, the status it would have had.
    pub status: u16,
    /// The provider's message.
    pub message: String,
    /// The provider's error code, such as `insufficient_quota`.
    pub code: Option<String>,
    /// How long the provider asks clients to wait.
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// Creates an error with the status of its kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: kind.status(),
            message: message.into(),
            code: None,
            retry_after: None,
        }
    }

    /// Sets the time to wait before a retry.
    #[must_use]
    pub fn with_retry_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    /// Creates the error for a response that the provider's API does not allow.
    pub(crate) fn protocol(problem: impl std::fmt::Display) -> Self {
        Self::new(
            ErrorKind::Protocol,
            format!("invalid response from the provider: {problem}"),
        )
    }

    /// Creates the error for a stream that ended before the response did.
    pub(crate) fn interrupted() -> Self {
        Self::new(
            ErrorKind::Interrupted,
            "the stream ended before the response was complete",
        )
    }
}

/// A malformed request is an error of the client.
impl From<WireError> for ModelError {
    fn from(error: WireError) -> Self {
        Self::new(ErrorKind::InvalidRequest, error.to_string())
    }
}

/// Returns the wait time from the response headers if it is a number. A date would need a clock.
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

/// Returns the wait time of an error in whole seconds, rounded up.
pub(crate) fn retry_after_secs(error: &ModelError) -> Option<u64> {
    let seconds = |wait: Duration| wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    error.retry_after.map(seconds)
}

/// Creates an error from a body that is not in the API's format: a proxy's page, or an empty body.
pub(crate) fn from_text(status: u16, body: &[u8]) -> ModelError {
    const MAX_BODY_EXCERPT: usize = 400;
    let text: String = String::from_utf8_lossy(body)
        .trim()
        .chars()
        .take(MAX_BODY_EXCERPT)
        .collect();
    let message = if text.is_empty() {
        format!("the provider returned status {status} with an empty body")
    } else {
        text
    };
    ModelError {
        status,
        ..ModelError::new(ErrorKind::from_status(status), message)
    }
}
