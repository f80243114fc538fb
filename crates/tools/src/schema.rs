//! The JSON schema of an input type, in the plain form that every model API takes.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The schema of a tool's input.
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
        // The tool has a name and a description already.
        fields.remove("title");
        fields.remove("description");
    }
    simplify(&mut schema);
    schema
}

/// Leaves out what some API refuses: a type that may also be null, defaults of null, number formats.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            not_null(fields);
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

/// What may be left out need not be null as well.
fn not_null(fields: &mut Map<String, Value>) {
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
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Input {
        /// Where.
        path: String,
        /// How many.
        count: Option<u32>,
    }

    #[test]
    fn what_is_optional_is_optional_and_nothing_else() {
        assert_eq!(
            super::input_schema::<Input>(),
            json!({
                "type": "object",
                "properties": {
                    "path": {"description": "Where.", "type": "string"},
                    "count": {"description": "How many.", "type": "integer", "minimum": 0},
                },
                "required": ["path"],
            })
        );
    }
}
