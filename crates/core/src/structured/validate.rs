//! Does a value fit a schema? The one place that asks the schema library.

use serde_json::Value;

use super::error::{SchemaViolation, excerpt};

/// How many misfits are reported: an agent that got more wrong than that has not understood the task.
const MAX_VIOLATIONS: usize = 20;

/// Where a value does not fit; nothing, if it fits.
pub(super) type SchemaCheck = Box<dyn Fn(&Value) -> Vec<SchemaViolation> + Send + Sync>;

/// Makes a check of a schema, or says what is wrong with the schema. What a `$ref` names is never fetched.
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

/// The agent knows the value that it gave, and a log need not: the message names the rule alone.
fn violation(error: &jsonschema::ValidationError<'_>) -> SchemaViolation {
    SchemaViolation {
        path: excerpt(error.instance_path().as_str()),
        problem: excerpt(&error.masked().to_string()),
    }
}
