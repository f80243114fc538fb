//! The path of a value in a JSON document.

use std::fmt;

use serde_json::Value;

use crate::WireError;

/// The path of a value. It is on the stack and is formatted only for an error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonPath<'a> {
    parent: Option<&'a JsonPath<'a>>,
    step: PathStep<'a>,
}

#[derive(Debug, Clone, Copy)]
enum PathStep<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl<'a> JsonPath<'a> {
    pub(crate) const ROOT: JsonPath<'static> = JsonPath {
        parent: None,
        step: PathStep::Root,
    };

    pub(crate) fn key(&'a self, key: &'a str) -> JsonPath<'a> {
        JsonPath {
            parent: Some(self),
            step: PathStep::Key(key),
        }
    }

    pub(crate) fn index(&'a self, index: usize) -> JsonPath<'a> {
        JsonPath {
            parent: Some(self),
            step: PathStep::Index(index),
        }
    }

    /// Returns an error at this path.
    pub(crate) fn error(&self, problem: impl Into<String>) -> WireError {
        WireError::Field {
            path: self.to_string(),
            problem: problem.into(),
        }
    }

    /// Returns the error for a value of the wrong type.
    pub(crate) fn expected(&self, what: &str, found: &Value) -> WireError {
        self.error(format!("expected {what}, found {}", type_name(found)))
    }
}

impl fmt::Display for JsonPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        let nested = self
            .parent
            .is_some_and(|p| !matches!(p.step, PathStep::Root));
        match self.step {
            PathStep::Root => Ok(()),
            PathStep::Key(key) if nested => write!(f, ".{key}"),
            PathStep::Key(key) => f.write_str(key),
            PathStep::Index(index) => write!(f, "[{index}]"),
        }
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
