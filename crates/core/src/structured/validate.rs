//! Validation of values. This is the only module that uses the schema library.

use serde_json::Value;

use super::error::{SchemaViolation, excerpt};

/// The maximum number of reported violations. An agent with more of them has not understood the task.
const MAX_VIOLATIONS: usize = 20;

/// Returns the schema violations of a value; empty if it is valid.
pub(super) type SchemaCheck = Box<dyn Fn(&Value) -> Vec<SchemaViolation> + Send + Sync>;

/// Compiles a schema, or returns the error in the schema. A `$ref` is never fetched.
pub(super) fn compile(schema: &Value) -> Result<SchemaCheck, SchemaViolation> {
    let validator = jsonschema::options()
        .offline()
        .build(schema)
        .map_err(|error| violation(&error))?;
    Ok(Box::new(move |value| {
        if validator.is_valid(value) {
            return Vec::new();
        }
        let errors = validator.iter_errors(value);
        errors
            .take(MAX_VIOLATIONS)
            .map(|error| violation(&error))
            .collect()
    }))
}

/// Converts an error without quoting the value: the agent knows it, and it should not appear in logs.
fn violation(error: &jsonschema::ValidationError<'_>) -> SchemaViolation {
    SchemaViolation {
        path: excerpt(error.instance_path().as_str()),
        problem: excerpt(&error.masked().to_string()),
    }
}
