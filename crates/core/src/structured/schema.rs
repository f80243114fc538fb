//! A schema that was checked and is ready to check answers.

use std::fmt;

use serde_json::Value;

use super::error::SchemaViolation;
use super::json::{self, MAX_DEPTH};
use super::relax::relaxed;
use super::validate::{SchemaCheck, compile};
use crate::{Error, Result};

/// The largest schema that is accepted, as JSON on one line.
pub const SCHEMA_BYTES: usize = 256 << 10;

/// How closely an answer is held to its schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// The answer must fit the schema exactly as it is given.
    #[default]
    Strict,
    /// Properties that the schema forbids only because it does not know them are tolerated.
    Lenient,
    /// Any JSON will do. The schema itself must still be one.
    None,
}

/// The schema of an answer, or the absence of one.
pub(super) struct Schema {
    json: Option<String>,
    arrays: bool,
    /// The answer fits if it fits one of these; the last says why it does not.
    checks: Vec<SchemaCheck>,
}

impl Schema {
    /// Checks the schema itself; whatever is wrong with it is an [`Error::InvalidInput`].
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
            // Without its bans a `oneOf` may match twice, so what fits exactly is not asked to fit loosely too.
            Validation::Lenient => vec![exact, compiled(&relaxed(schema))?],
            Validation::None => Vec::new(),
        };
        Ok(Self {
            json: Some(json),
            arrays: may_be_array(schema, schema, MAX_DEPTH),
            checks,
        })
    }

    /// The schema on one line, where there is one.
    pub(super) fn json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    /// Whether an array at the top may be what is asked for.
    pub(super) fn allows_arrays(&self) -> bool {
        self.arrays
    }

    /// Where the value does not fit; nothing, if it fits.
    pub(super) fn violations(&self, value: &Value) -> Vec<SchemaViolation> {
        let mut misfits = Vec::new();
        for check in &self.checks {
            misfits = check(value);
            if misfits.is_empty() {
                break;
            }
        }
        misfits
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.json).finish()
    }
}

fn checked_size(schema: &Value) -> Result<String> {
    let refused = |problem: String| Err(Error::InvalidInput(problem));
    if !schema.is_object() {
        return refused("the schema is not a JSON object".to_owned());
    }
    if !json::is_within_depth(schema, MAX_DEPTH) {
        return refused(format!(
            "the schema is nested deeper than {MAX_DEPTH} levels"
        ));
    }
    let json = schema.to_string();
    match json.len() {
        ..=SCHEMA_BYTES => Ok(json),
        size => refused(format!(
            "the schema has {size} bytes, the limit is {SCHEMA_BYTES}: ask for less at once"
        )),
    }
}

fn compiled(schema: &Value) -> Result<SchemaCheck> {
    compile(schema)
        .map_err(|misfit| Error::InvalidInput(format!("the schema is not a JSON schema: {misfit}")))
}

/// Whether the schema lets an array through, as far as its top tells. `room` ends a circle of references.
fn may_be_array(schema: &Value, root: &Value, room: usize) -> bool {
    let any = |schemas: &Value| {
        let mut schemas = schemas.as_array().into_iter().flatten();
        schemas.any(|schema| may_be_array(schema, root, room.saturating_sub(1)))
    };
    if room == 0 {
        return true;
    }
    if let Some(kind) = schema.get("type") {
        return kind == "array"
            || kind
                .as_array()
                .is_some_and(|kinds| kinds.contains(&"array".into()));
    }
    if let Some(place) = schema.get("$ref").and_then(Value::as_str) {
        let target = place
            .strip_prefix('#')
            .and_then(|pointer| root.pointer(pointer));
        return target.is_none_or(|target| may_be_array(target, root, room - 1));
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
    fn refused(schema: Value, expected: &str) {
        match Schema::new(Some(&schema), Validation::None) {
            Err(Error::InvalidInput(problem)) => assert!(problem.contains(expected), "{problem}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_bad_schema_is_refused() {
        refused(json!(true), "not a JSON object");
        refused(json!([1]), "not a JSON object");
        refused(json!({ "type": "objekt" }), "at /type");
        refused(
            json!({ "$ref": "https://example.com/s.json" }),
            "example.com",
        );
        refused(json!({ "$ref": "file:///etc/hostname" }), "hostname");
        refused(json!({ "$ref": "#/$defs/nowhere" }), "nowhere");
        refused(json!({ "pattern": "(" }), "at /pattern");
        refused(
            json!({ "description": "x".repeat(SCHEMA_BYTES) }),
            "the limit is 262144",
        );
        let deep = (0..MAX_DEPTH).fold(json!({}), |inner, _| json!({ "not": inner }));
        refused(deep, "deeper than 64");
    }

    #[test]
    fn lenient_tolerates_what_is_only_unknown() {
        let schema = json!({
            "type": "object",
            "properties": { "a": { "type": "integer" } },
            "required": ["a"],
            "additionalProperties": false,
        });
        let fits = |validation, value: Value| {
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
                .map(|validation| fits(validation, value.clone()));
            assert_eq!(found, expected, "{value}");
        }
    }

    #[test]
    fn lenient_accepts_whatever_strict_accepts() {
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
    fn the_top_tells_whether_arrays_are_asked_for() {
        let check = |schema: Value, arrays: bool| {
            let made = Schema::new(Some(&schema), Validation::None).unwrap();
            assert_eq!(made.allows_arrays(), arrays, "{schema}");
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
    fn circles_of_references_come_to_an_end() {
        for schema in [
            json!({ "$ref": "#" }),
            json!({ "allOf": [{ "$ref": "#" }] }),
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
            json!({ "type": "object", "properties": { "next": { "$ref": "#" } } }),
        ] {
            if let Ok(made) = Schema::new(Some(&schema), Validation::Strict) {
                made.violations(&json!({ "next": { "next": {} } }));
            }
        }
    }
}
