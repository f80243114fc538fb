//! The input of a tool that takes an object: what the intent gives, under the tool's own names.

use serde_json::{Map, Value, json};

use super::table::{PATH, ParamNames};
use crate::workdir::AgentWorkdir;

/// What stands where a tool insists on a word that no script gives, such as why a command is run.
const FILLER: &str = "As the script says.";

/// The object for a tool of this schema, or `None` if the tool has no place for something that the intent gives.
pub(super) fn fill_input(
    schema: &Value,
    slots: &[(ParamNames, &str)],
    workspace: &AgentWorkdir,
) -> Option<Value> {
    let properties = schema.get("properties")?.as_object()?;
    let mut filled = Map::new();
    for (slot, value) in slots {
        let (name, property) = slot
            .iter()
            .find_map(|name| properties.get_key_value(*name))?;
        let value = match *slot {
            PATH if wants_whole_path(property) => workspace.join(value).into(),
            _ if is(property, "array") => json!(["bash", "-lc", value]),
            _ => Value::from(*value),
        };
        filled.insert(name.clone(), value);
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !filled.contains_key(name) {
            filled.insert(name.to_owned(), filler(properties.get(name)?)?);
        }
    }
    Some(Value::Object(filled))
}

fn wants_whole_path(property: &Value) -> bool {
    let about = property.get("description").and_then(Value::as_str);
    about.is_some_and(|about| about.to_ascii_lowercase().contains("absolute"))
}

/// Something harmless for a property that must be there.
fn filler(property: &Value) -> Option<Value> {
    if let Some(first) = property.get("enum").and_then(|list| list.get(0)) {
        return Some(first.clone());
    }
    let kinds = ["string", "boolean", "integer", "number", "array", "object"];
    Some(match kinds.into_iter().find(|kind| is(property, kind))? {
        "string" => FILLER.into(),
        "boolean" => false.into(),
        "array" => json!([]),
        "object" => json!({}),
        _ => 1.into(),
    })
}

/// Whether a property is of this type; Gemini shouts its types, and some agents list several.
fn is(property: &Value, kind: &str) -> bool {
    let fits = |value: &Value| {
        value
            .as_str()
            .is_some_and(|word| word.eq_ignore_ascii_case(kind))
    };
    match property.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(fits),
        Some(value) => fits(value),
        None => false,
    }
}
