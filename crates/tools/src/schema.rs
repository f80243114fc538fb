//! The JSON schema of an input type, in a simple form that every model API accepts.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Returns the schema of a tool's input.
pub(crate) fn input_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Value::Object(fields) = &mut schema {
        // The tool already has a name and a description.
        fields.remove("title");
        fields.remove("description");
    }
    simplify(&mut schema);
    schema
}

/// Removes what some APIs reject: nullable types, null defaults, number formats.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            remove_null_type(fields);
            fields.remove("format");
            if fields.get("default") == Some(&Value::Null) {
                fields.remove("default");
            }
            fields.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Replaces a nullable type by the type itself: an optional property need not be nullable as well.
fn remove_null_type(fields: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = fields.get("type") else {
        return;
    };
    let mut rest = types.iter().filter(|name| *name != "null");
    if let (Some(only), None) = (rest.next().cloned(), rest.next()) {
        fields.insert("type".to_owned(), only);
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde_json::json;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Input {
        /// The path.
        path: String,
        /// The count.
        count: Option<u32>,
    }

    #[test]
    fn optional_property_is_not_required_and_not_nullable() {
        assert_eq!(
            super::input_schema::<Input>(),
            json!({
                "type": "object",
                "properties": {
                    "path": {"description": "The path.", "type": "string"},
                    "count": {"description": "The count.", "type": "integer", "minimum": 0},
                },
                "required": ["path"],
            })
        );
    }
}
