//! Where in a document a value stands.

use std::fmt;

use serde_json::Value;

use crate::WireError;

/// Where a value stands. It lives on the stack and is written out only when something is wrong.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    pub(crate) const ROOT: Path<'static> = Path {
        parent: None,
        step: Step::Root,
    };

    pub(crate) fn key(&'a self, key: &'a str) -> Path<'a> {
        Path {
            parent: Some(self),
            step: Step::Key(key),
        }
    }

    pub(crate) fn index(&'a self, index: usize) -> Path<'a> {
        Path {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    /// An error here.
    pub(crate) fn error(&self, problem: impl Into<String>) -> WireError {
        WireError::Field {
            path: self.to_string(),
            problem: problem.into(),
        }
    }

    /// The error of a value that is not what it should be.
    pub(crate) fn expected(&self, what: &str, found: &Value) -> WireError {
        self.error(format!("expected {what}, found {}", name_of(found)))
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        let nested = self.parent.is_some_and(|p| !matches!(p.step, Step::Root));
        match self.step {
            Step::Root => Ok(()),
            Step::Key(key) if nested => write!(f, ".{key}"),
            Step::Key(key) => f.write_str(key),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
