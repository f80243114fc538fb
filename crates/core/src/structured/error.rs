//! Errors of structured calls.

use std::fmt;

use crate::{ErrorCode, Usage};

/// The error of a structured call, with the usage so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// The name of the task.
    pub task: String,
    /// The cause of the failure.
    pub kind: Box<StructuredErrorKind>,
    /// How many times the agent was prompted.
    pub rounds: u32,
    /// The usage of all rounds, if the agent reports it.
    pub usage: Option<Box<Usage>>,
}

/// The cause of a failed structured call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StructuredErrorKind {
    /// No part of the answer is JSON.
    #[error("the answer contains no JSON: {answer:?}")]
    NoJson {
        /// The beginning of the answer.
        answer: String,
    },
    /// The answer starts like JSON but is invalid.
    #[error("the answer is not valid JSON ({problem}): {answer:?}")]
    Malformed {
        /// The parse error and its position.
        problem: String,
        /// The beginning of the invalid JSON.
        answer: String,
    },
    /// The answer contains more than one value, and it is unclear which one is meant.
    #[error("the answer contains two JSON values: {first:?} and {second:?}")]
    Ambiguous {
        /// The beginning of the first.
        first: String,
        /// The beginning of the second.
        second: String,
    },
    /// The answer is JSON but violates the schema.
    #[error("the answer does not match the schema: {}", join_violations(.0, "; "))]
    SchemaViolations(Vec<SchemaViolation>),
    /// There is no answer: the input was rejected, or the agent failed.
    #[error(transparent)]
    Agent(#[from] crate::Error),
}

/// One violation of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaViolation {
    /// The location in the value as a JSON pointer; empty for the value itself.
    pub path: String,
    /// What the schema requires there.
    pub problem: String,
}

impl Error {
    /// Returns the stable code of this error: the agent's own code, or `BackendError` for an invalid answer.
    pub fn code(&self) -> ErrorCode {
        match &*self.kind {
            StructuredErrorKind::Agent(error) => error.code(),
            _ => ErrorCode::BackendError,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.task, self.kind)?;
        match self.rounds {
            0 | 1 => Ok(()),
            rounds => write!(f, " (asked {rounds} times)"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.kind)
    }
}

impl StructuredErrorKind {
    /// Returns the text for the correction prompt, one problem per line.
    pub(super) fn correction_text(&self) -> String {
        match self {
            Self::NoJson { .. } => "- It contains no JSON.".to_owned(),
            Self::Malformed { problem, .. } => format!("- It is not valid JSON: {problem}."),
            Self::Ambiguous { .. } => {
                "- It contains more than one JSON value. Give exactly one.".to_owned()
            }
            Self::SchemaViolations(violations) => {
                format!("- {}", join_violations(violations, "\n- "))
            }
            Self::Agent(error) => format!("- {error}"),
        }
    }
}

impl fmt::Display for SchemaViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(f, "at the top: {}", self.problem),
            path => write!(f, "at {path}: {}", self.problem),
        }
    }
}

fn join_violations(violations: &[SchemaViolation], separator: &str) -> String {
    let lines: Vec<String> = violations.iter().map(SchemaViolation::to_string).collect();
    lines.join(separator)
}

/// Returns the beginning of a text, for use in a message.
pub(super) fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 200;
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
