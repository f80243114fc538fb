//! A compiled schema that validates answers.

use std::fmt;

use serde_json::Value;

use super::error::SchemaViolation;
use super::json::{self, MAX_DEPTH};
use super::relax::relaxed;
use super::validate::{SchemaCheck, compile};
use crate::{Error, Result};

/// The maximum size of a schema, as JSON on one line.
pub const SCHEMA_BYTES: usize = 256 << 10;

/// How strictly an answer is validated against its schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// The answer must match the schema as given.
    #[default]
    Strict,
    /// Properties that are forbidden only because the schema does not list them are tolerated.
    Lenient,
    /// Any JSON is accepted. The schema itself must still be valid.
    None,
}

/// The schema of an answer, if there is one.
pub(super) struct Schema {
    json: Option<String>,
    arrays: bool,
    /// The answer is valid if one of these accepts it. The violations of the last one are reported.
    checks: Vec<SchemaCheck>,
}

impl Schema {
    /// Compiles the schema. An invalid schema is an [`Error::InvalidInput`].
    pub(super) fn new(schema: Option<&Value>, validation: Validation) -> Result<Self> {
        let Some(schema) = schema else {
            return Ok(Self {
                json: None,
                arrays: true,
                checks: Vec::new(),
            });
        };
        let json = checked_size(schema)?;
        let exact = compiled(schema)?;
        let checks = match validation {
            Validation::Strict => vec![exact],
            // Without its bans a `oneOf` may match twice, so an exact match is accepted first.
            Validation::Lenient => vec![exact, compiled(&relaxed(schema))?],
            Validation::None => Vec::new(),
        };
        Ok(Self {
            json: Some(json),
            arrays: may_be_array(schema, schema, MAX_DEPTH),
            checks,
        })
    }

    /// Returns the schema on one line, if there is one.
    pub(super) fn json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    /// Returns `true` if the schema may accept an array at the top level.
    pub(super) fn allows_arrays(&self) -> bool {
        self.arrays
    }

    /// Returns the schema violations of the value; empty if it is valid.
    pub(super) fn violations(&self, value: &Value) -> Vec<SchemaViolation> {
        let mut violations = Vec::new();
        for check in &self.checks {
            violations = check(value);
            if violations.is_empty() {
                break;
            }
        }
        violations
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.json).finish()
    }
}

fn checked_size(schema: &Value) -> Result<String> {
    let invalid = |problem: String| Err(Error::InvalidInput(problem));
    if !schema.is_object() {
        return invalid("the schema is not a JSON object".to_owned());
    }
    if !json::is_within_depth(schema, MAX_DEPTH) {
        return invalid(format!(
            "the schema is nested deeper than {MAX_DEPTH} levels"
        ));
    }
    let json = schema.to_string();
    match json.len() {
        ..=SCHEMA_BYTES => Ok(json),
        size => invalid(format!(
            "the schema has {size} bytes, the limit is {SCHEMA_BYTES}: use a smaller schema"
        )),
    }
}

fn compiled(schema: &Value) -> Result<SchemaCheck> {
    compile(schema).map_err(|violation| {
        Error::InvalidInput(format!("the schema is not a JSON schema: {violation}"))
    })
}

/// Returns `true` if the schema may accept an array. Only its top level is checked. `depth_left` ends cycles of
/// references.
fn may_be_array(schema: &Value, root: &Value, depth_left: usize) -> bool {
    let any = |schemas: &Value| {
        let mut schemas = schemas.as_array().into_iter().flatten();
        schemas.any(|schema| may_be_array(schema, root, depth_left.saturating_sub(1)))
    };
    if depth_left == 0 {
        return true;
    }
    if let Some(kind) = schema.get("type") {
        return kind == "array"
            || kind
                .as_array()
                .is_some_and(|kinds| kinds.contains(&"array".into()));
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = reference
            .strip_prefix('#')
            .and_then(|pointer| root.pointer(pointer));
        return target.is_none_or(|target| may_be_array(target, root, depth_left - 1));
    }
    match schema.get("anyOf").or_else(|| schema.get("oneOf")) {
        Some(schemas) => any(schemas),
        None => schema.get("properties").is_none(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn assert_rejected(schema: Value, expected: &str) {
        match Schema::new(Some(&schema), Validation::None) {
            Err(Error::InvalidInput(problem)) => assert!(problem.contains(expected), "{problem}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn invalid_schema_is_rejected() {
        assert_rejected(json!(true), "not a JSON object");
        assert_rejected(json!([1]), "not a JSON object");
        assert_rejected(json!({ "type": "objekt" }), "at /type");
        assert_rejected(
            json!({ "$ref": "https://example.com/s.json" }),
            "example.com",
        );
        assert_rejected(json!({ "$ref": "file:///etc/hostname" }), "hostname");
        assert_rejected(json!({ "$ref": "#/$defs/nowhere" }), "nowhere");
        assert_rejected(json!({ "pattern": "(" }), "at /pattern");
        assert_rejected(
            json!({ "description": "x".repeat(SCHEMA_BYTES) }),
            "the limit is 262144",
        );
        let deep = (0..MAX_DEPTH).fold(json!({}), |inner, _| json!({ "not": inner }));
        assert_rejected(deep, "deeper than 64");
    }

    #[test]
    fn lenient_validation_tolerates_unknown_properties() {
        let schema = json!({
            "type": "object",
            "properties": { "a": { "type": "integer" } },
            "required": ["a"],
            "additionalProperties": false,
        });
        let is_valid = |validation, value: Value| {
            let schema = Schema::new(Some(&schema), validation).unwrap();
            schema.violations(&value).is_empty()
        };
        // value, strict, lenient, none
        let table = [
            (json!({ "a": 1 }), [true, true, true]),
            (json!({ "a": 1, "b": 2 }), [false, true, true]),
            (json!({ "a": "1", "b": 2 }), [false, false, true]),
            (json!([]), [false, false, true]),
        ];
        for (value, expected) in table {
            let found = [Validation::Strict, Validation::Lenient, Validation::None]
                .map(|validation| is_valid(validation, value.clone()));
            assert_eq!(found, expected, "{value}");
        }
    }

    #[test]
    fn lenient_accepts_everything_that_strict_accepts() {
        let only = |names: &[&str]| {
            let properties: serde_json::Map<_, _> = names
                .iter()
                .map(|name| ((*name).to_owned(), json!({})))
                .collect();
            json!({ "properties": properties, "required": ["a"], "additionalProperties": false })
        };
        let schema = json!({ "oneOf": [only(&["a"]), only(&["a", "b"])] });
        let lenient = Schema::new(Some(&schema), Validation::Lenient).unwrap();
        assert_eq!(lenient.violations(&json!({ "a": 1, "b": 2 })), []);
    }

    #[test]
    fn allows_arrays_depends_on_top_level_of_schema() {
        let check = |schema: Value, arrays: bool| {
            let compiled = Schema::new(Some(&schema), Validation::None).unwrap();
            assert_eq!(compiled.allows_arrays(), arrays, "{schema}");
        };
        check(json!({ "type": "array" }), true);
        check(json!({ "type": ["null", "array"] }), true);
        check(json!({ "type": "object" }), false);
        check(json!({ "properties": {} }), false);
        check(json!({}), true);
        check(
            json!({ "$ref": "#/$defs/x", "$defs": { "x": { "type": "object" } } }),
            false,
        );
        check(
            json!({ "anyOf": [{ "type": "object" }, { "type": "array" }] }),
            true,
        );
        check(
            json!({ "oneOf": [{ "type": "object" }, { "type": "null" }] }),
            false,
        );
    }

    #[test]
    fn cyclic_references_terminate() {
        for schema in [
            json!({ "$ref": "#" }),
            json!({ "allOf": [{ "$ref": "#" }] }),
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
            json!({ "type": "object", "properties": { "next": { "$ref": "#" } } }),
        ] {
            if let Ok(compiled) = Schema::new(Some(&schema), Validation::Strict) {
                compiled.violations(&json!({ "next": { "next": {} } }));
            }
        }
    }
}
