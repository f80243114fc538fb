//! The schema of a tool's input, from its type.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// Returns the schema of a type as an object schema without references.
///
/// A field that may be missing is not required; `null` is not offered as a second way to omit it, because some
/// clients do not understand lists of types.
pub(super) fn input_schema<T: JsonSchema>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    simplify(&mut schema);
    let mut fields = match schema {
        Value::Object(fields) => fields,
        _ => JsonObject::new(),
    };
    fields.remove("title");
    fields.remove("description");
    fields.entry("properties").or_insert_with(|| json!({}));
    fields
}

/// Removes `null` as a type or alternative, and the names of Rust's number types.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(fields) => {
            fields.values_mut().for_each(simplify);
            if fields.get("format").is_some_and(Value::is_string) {
                fields.remove("format");
            }
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    fields.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(values)) = fields.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            only_alternative(fields);
        }
        _ => {}
    }
}

/// Replaces alternatives by the one that is not `null`.
fn only_alternative(fields: &mut JsonObject) {
    let Some(Value::Array(alternatives)) = fields.get_mut("anyOf") else {
        return;
    };
    alternatives.retain(|schema| schema["type"] != "null");
    if alternatives.len() != 1 {
        return;
    }
    if let Some(Value::Object(inner)) = alternatives.pop() {
        fields.remove("anyOf");
        for (name, value) in inner {
            // The comment of the field says more than that of its type.
            fields.entry(name).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;

    use super::*;

    #[derive(JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Color {
        Red,
        Blue,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Input {
        /// The number.
        id: i64,
        /// The color.
        color: Option<Color>,
        /// The colors.
        #[serde(default)]
        colors: Vec<Color>,
        /// The page size.
        #[schemars(range(min = 1, max = 9))]
        limit: Option<u32>,
    }

    #[test]
    fn optional_fields_are_plain_and_not_required() {
        let schema = Value::Object(input_schema::<Input>());
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["required"], json!(["id"]));
        let fields = &schema["properties"];
        assert_eq!(
            fields["id"],
            json!({ "description": "The number.", "type": "integer" })
        );
        assert_eq!(fields["color"]["enum"], json!(["red", "blue"]));
        assert_eq!(fields["color"]["description"], "The color.");
        assert_eq!(fields["colors"]["items"]["enum"], json!(["red", "blue"]));
        let limit = &fields["limit"];
        assert_eq!(limit["type"], "integer");
        assert_eq!([&limit["minimum"], &limit["maximum"]], [1, 9]);
        assert!(!schema.to_string().contains("null"), "{schema}");
        assert!(!schema.to_string().contains("$ref"), "{schema}");
    }
}
