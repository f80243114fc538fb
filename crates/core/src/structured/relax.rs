//! Relaxes a schema so that it tolerates unknown properties.

use serde_json::{Map, Value};

/// Keywords with a literal as their value, not a schema.
const LITERAL_KEYWORDS: &[&str] = &["const", "default", "enum", "examples", "required"];
/// Keywords with a value that maps names to schemas. The names are not keywords.
const NAMED_SCHEMA_KEYWORDS: &[&str] = &[
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// Returns the schema without its bans on additional properties. Rules for the values of such properties
/// stay.
pub(super) fn relaxed(schema: &Value) -> Value {
    match schema {
        Value::Array(schemas) => schemas.iter().map(relaxed).collect(),
        Value::Object(keywords) => {
            let allowed = keywords
                .iter()
                .filter(|(keyword, value)| !is_additional_properties_false(keyword, value));
            Value::Object(
                allowed
                    .map(|(keyword, value)| (keyword.clone(), keyword_relaxed(keyword, value)))
                    .collect(),
            )
        }
        other => other.clone(),
    }
}

fn keyword_relaxed(keyword: &str, value: &Value) -> Value {
    match value {
        _ if LITERAL_KEYWORDS.contains(&keyword) => value.clone(),
        Value::Object(schemas) if NAMED_SCHEMA_KEYWORDS.contains(&keyword) => {
            let relax = |(name, schema): (&String, &Value)| (name.clone(), relaxed(schema));
            Value::Object(schemas.iter().map(relax).collect::<Map<_, _>>())
        }
        _ => relaxed(value),
    }
}

fn is_additional_properties_false(keyword: &str, value: &Value) -> bool {
    matches!(keyword, "additionalProperties" | "unevaluatedProperties")
        && *value == Value::Bool(false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_additional_properties_false_is_removed() {
        let check = |schema: Value, expected: Value| assert_eq!(relaxed(&schema), expected);
        check(
            json!({ "type": "object", "additionalProperties": false }),
            json!({ "type": "object" }),
        );
        check(
            json!({ "anyOf": [{ "items": { "unevaluatedProperties": false } }] }),
            json!({ "anyOf": [{ "items": {} }] }),
        );
        for unchanged in [
            json!({ "additionalProperties": { "type": "string" } }),
            json!({ "properties": { "additionalProperties": false } }),
            json!({ "const": { "additionalProperties": false } }),
        ] {
            check(unchanged.clone(), unchanged);
        }
    }
}
