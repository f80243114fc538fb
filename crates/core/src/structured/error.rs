//! Why a structured answer could not be had.

use std::fmt;

use crate::{ErrorCode, Usage};

/// A structured call that failed, and what it consumed all the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// The name of the task.
    pub task: String,
    /// What was wrong in the end.
    pub fault: Box<StructuredErrorKind>,
    /// How many times the agent was asked.
    pub rounds: u32,
    /// What all rounds together consumed, where the agent says so.
    pub usage: Option<Box<Usage>>,
}

/// What can be wrong with an answer, or with the way to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StructuredErrorKind {
    /// No part of the answer is JSON.
    #[error("the answer holds no JSON: {answer:?}")]
    NoJson {
        /// The beginning of the answer.
        answer: String,
    },
    /// The answer begins like JSON but is not.
    #[error("the answer is not valid JSON ({problem}): {answer:?}")]
    Malformed {
        /// What the reader stumbled over, and where.
        problem: String,
        /// The beginning of what should have been JSON.
        answer: String,
    },
    /// The answer holds more than one value, and nothing says which is meant.
    #[error("the answer holds two JSON values: {first:?} and {second:?}")]
    Ambiguous {
        /// The beginning of the first.
        first: String,
        /// The beginning of the second.
        second: String,
    },
    /// The answer is JSON, but not what the schema asks for.
    #[error("the answer does not fit the schema: {}", join_violations(.0, "; "))]
    SchemaViolations(Vec<SchemaViolation>),
    /// There is no answer: the input was refused, or the agent failed.
    #[error(transparent)]
    Agent(#[from] crate::Error),
}

/// One place where a value does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaViolation {
    /// The place in the value as a JSON pointer; empty for the value itself.
    pub path: String,
    /// What the schema asks for there.
    pub problem: String,
}

impl Error {
    /// The stable name of this failure: the agent's own, or that of an agent that did not do its work.
    pub fn code(&self) -> ErrorCode {
        match &*self.fault {
            StructuredErrorKind::Agent(error) => error.code(),
            _ => ErrorCode::BackendError,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.task, self.fault)?;
        match self.rounds {
            0 | 1 => Ok(()),
            rounds => write!(f, " (asked {rounds} times)"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.fault)
    }
}

impl StructuredErrorKind {
    /// What the agent is told, one line each.
    pub(super) fn correction_text(&self) -> String {
        match self {
            Self::NoJson { .. } => "- It holds no JSON.".to_owned(),
            Self::Malformed { problem, .. } => format!("- It is not valid JSON: {problem}."),
            Self::Ambiguous { .. } => {
                "- It holds more than one JSON value. Give exactly one.".to_owned()
            }
            Self::SchemaViolations(misfits) => format!("- {}", join_violations(misfits, "\n- ")),
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

fn join_violations(misfits: &[SchemaViolation], between: &str) -> String {
    let lines: Vec<String> = misfits.iter().map(SchemaViolation::to_string).collect();
    lines.join(between)
}

/// The beginning of a text, for a message.
pub(super) fn excerpt(text: &str) -> String {
    const LENGTH: usize = 200;
    match text.char_indices().nth(LENGTH) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
