//! A schema that tolerates properties it does not know.

use serde_json::{Map, Value};

/// Keywords under which stands a value as it is, not a schema.
const LITERAL_KEYWORDS: &[&str] = &["const", "default", "enum", "examples", "required"];
/// Keywords under which stand schemas by name: the names are no keywords.
const NAMED_SCHEMA_KEYWORDS: &[&str] = &[
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// The same schema without its bans on additional properties. Rules about what they must look like stay.
pub(super) fn relaxed(schema: &Value) -> Value {
    match schema {
        Value::Array(schemas) => schemas.iter().map(relaxed).collect(),
        Value::Object(keywords) => {
            let kept = keywords
                .iter()
                .filter(|(keyword, value)| !is_additional_properties_false(keyword, value));
            Value::Object(
                kept.map(|(keyword, value)| (keyword.clone(), keyword_relaxed(keyword, value)))
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
    fn bans_go_and_everything_else_stays() {
        let check = |schema: Value, expected: Value| assert_eq!(relaxed(&schema), expected);
        check(
            json!({ "type": "object", "additionalProperties": false }),
            json!({ "type": "object" }),
        );
        check(
            json!({ "anyOf": [{ "items": { "unevaluatedProperties": false } }] }),
            json!({ "anyOf": [{ "items": {} }] }),
        );
        for same in [
            json!({ "additionalProperties": { "type": "string" } }),
            json!({ "properties": { "additionalProperties": false } }),
            json!({ "const": { "additionalProperties": false } }),
        ] {
            check(same.clone(), same);
        }
    }
}
