//! Tools by the name that a scenario has for them.

use serde_json::Value;
use windlass_gateway::script::IntentKind;

/// The words of the first scenarios for what is now an intent.
const LEGACY_NAMES: [(&str, IntentKind); 4] = [
    ("Bash", IntentKind::Shell),
    ("Write", IntentKind::WriteFile),
    ("Edit", IntentKind::EditFile),
    ("Read", IntentKind::ReadFile),
];

/// Whether an agent's tool is the one that a scenario means.
///
/// A scenario may use the agent's own name, or an intent: then every agent's tool for it counts. An agent that
/// has no tool for a file does it with its shell or with a patch, and that counts too.
pub(super) fn matches_tool(name: &str, tool: &str) -> bool {
    if name == tool {
        return true;
    }
    if let Some(rest) = name.strip_prefix("mcp:") {
        return is_mcp(rest, tool);
    }
    let word = LEGACY_NAMES
        .iter()
        .find(|(word, _)| *word == name)
        .map(|(_, kind)| *kind);
    let Some(kind) = IntentKind::from_name(name).or(word) else {
        return false;
    };
    kind.has_tool(tool) || IntentKind::Shell.has_tool(tool)
}

/// `mcp:server/tool`, however the agent joins the two.
fn is_mcp(name: &str, tool: &str) -> bool {
    let (server, wanted) = name.split_once('/').unwrap_or(("", name));
    tool.contains(server) && tool.ends_with(wanted)
}

/// Whether an input contains a pattern.
///
/// A field of the pattern is looked for under its name; an agent that has another name for it must have its value
/// somewhere. Texts are contained, other values are equal.
pub(super) fn contains(input: &Value, pattern: &Value) -> bool {
    match (input, pattern) {
        (Value::Object(fields), Value::Object(wanted)) => {
            wanted.iter().all(|(name, value)| match fields.get(name) {
                Some(field) => contains(field, value),
                None => anywhere(input, value),
            })
        }
        (Value::Array(items), Value::Array(wanted)) => wanted
            .iter()
            .all(|value| items.iter().any(|item| contains(item, value))),
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        _ => input == pattern || anywhere(input, pattern),
    }
}

fn anywhere(input: &Value, pattern: &Value) -> bool {
    match input {
        Value::Object(fields) => fields.values().any(|field| contains(field, pattern)),
        Value::Array(items) => items.iter().any(|item| contains(item, pattern)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn intents_mean_every_agents_tool() {
        for (name, tool, meant) in [
            ("Bash", "Bash", true),
            ("shell", "exec_command", true),
            ("shell", "Write", false),
            ("write_file", "apply_patch", true),
            ("Read", "read_file", true),
            ("read_file", "exec_command", true),
            ("Grep", "exec_command", false),
            ("mcp:demo/echo", "mcp__demo__echo", true),
            ("mcp:demo/echo", "mcp__demo__add", false),
        ] {
            assert_eq!(matches_tool(name, tool), meant, "{name} and {tool}");
        }
    }

    #[test]
    fn inputs_contain_values_under_any_name() {
        let input = json!({"file_path": "/w/tmp/a.txt", "lines": [1, 2]});
        for (pattern, expected) in [
            (json!({"file_path": "a.txt"}), true),
            (json!({"path": "/w/tmp/a.txt"}), true),
            (json!({"path": "b.txt"}), false),
            (json!({"lines": [2]}), true),
            (json!({"lines": [3]}), false),
            (json!({}), true),
        ] {
            assert_eq!(contains(&input, &pattern), expected, "{pattern}");
        }
    }
}
