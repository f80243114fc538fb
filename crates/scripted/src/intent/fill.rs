//! The input object of a tool: the intent's values under the tool's parameter names.

use serde_json::{Map, Value, json};

use super::table::{ACTION, PATH, ParamNames};
use crate::workdir::AgentWorkdir;

/// The value of required text parameters that no script provides, such as the reason for a command.
const FILLER: &str = "As the script says.";

/// Returns the input object for a tool with this schema, or `None` if the tool has no parameter for one of
/// the intent's values.
pub(super) fn fill_input(
    schema: &Value,
    slots: &[(ParamNames, &str)],
    action: Option<&str>,
    workdir: &AgentWorkdir,
) -> Option<Value> {
    let properties = schema.get("properties")?.as_object()?;
    let mut filled = Map::new();
    // One tool for several actions, such as `view` and `create`.
    if let Some((name, property)) = ACTION
        .iter()
        .find_map(|name| properties.get_key_value(*name))
        && let Some(actions) = property.get("enum").and_then(Value::as_array)
    {
        let action = action.filter(|action| actions.iter().any(|known| known == action))?;
        filled.insert(name.clone(), action.into());
    }
    for (slot, value) in slots {
        let (name, property) = slot
            .iter()
            .find_map(|name| properties.get_key_value(*name))?;
        let value = match *slot {
            PATH if wants_absolute_path(property) => workdir.join(value).into(),
            _ if has_type(property, "array") => json!(["bash", "-lc", value]),
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

fn wants_absolute_path(property: &Value) -> bool {
    let about = property.get("description").and_then(Value::as_str);
    about.is_some_and(|about| about.to_ascii_lowercase().contains("absolute"))
}

/// Returns a harmless value for a required property.
fn filler(property: &Value) -> Option<Value> {
    if let Some(first) = property.get("enum").and_then(|list| list.get(0)) {
        return Some(first.clone());
    }
    let kinds = ["string", "boolean", "integer", "number", "array", "object"];
    Some(
        match kinds.into_iter().find(|kind| has_type(property, kind))? {
            "string" => FILLER.into(),
            "boolean" => false.into(),
            "array" => json!([]),
            "object" => json!({}),
            _ => 1.into(),
        },
    )
}

/// Returns `true` if a property has this type. Gemini writes types in capitals, and some agents list several.
fn has_type(property: &Value, kind: &str) -> bool {
    let matches_type = |value: &Value| {
        value
            .as_str()
            .is_some_and(|name| name.eq_ignore_ascii_case(kind))
    };
    match property.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(matches_type),
        Some(value) => matches_type(value),
        None => false,
    }
}
