//! Does a value fit a schema? The one place that asks the schema library.

use serde_json::Value;

use super::error::{Misfit, excerpt};

/// How many misfits are reported: an agent that got more wrong than that has not understood the task.
const MISFITS: usize = 20;

/// Where a value does not fit; nothing, if it fits.
pub(super) type Check = Box<dyn Fn(&Value) -> Vec<Misfit> + Send + Sync>;

/// Makes a check of a schema, or says what is wrong with the schema. What a `$ref` names is never fetched.
pub(super) fn compile(schema: &Value) -> Result<Check, Misfit> {
    let validator = jsonschema::options()
        .offline()
        .build(schema)
        .map_err(|error| misfit(&error))?;
    Ok(Box::new(move |value| {
        if validator.is_valid(value) {
            return Vec::new();
        }
        let errors = validator.iter_errors(value);
        errors.take(MISFITS).map(|error| misfit(&error)).collect()
    }))
}

/// The agent knows the value that it gave, and a log need not: the message names the rule alone.
fn misfit(error: &jsonschema::ValidationError<'_>) -> Misfit {
    Misfit {
        path: excerpt(error.instance_path().as_str()),
        problem: excerpt(&error.masked().to_string()),
    }
}
