//! Tool names in scenarios.

use serde_json::Value;
use windlass_scripted::script::IntentKind;

/// Names in the first scenarios for what are now intents.
const LEGACY_NAMES: [(&str, IntentKind); 4] = [
    ("Bash", IntentKind::Shell),
    ("Write", IntentKind::WriteFile),
    ("Edit", IntentKind::EditFile),
    ("Read", IntentKind::ReadFile),
];

/// Returns `true` if an agent's tool is the one that a scenario means.
///
/// A scenario may use the agent's own name, or an intent: then every agent's tool for it matches.
/// An agent without a file tool uses its shell or a patch, and that matches too.
pub(super) fn matches_tool(name: &str, tool: &str) -> bool {
    if name == tool {
        return true;
    }
    if let Some(rest) = name.strip_prefix("mcp:") {
        return is_mcp(rest, tool);
    }
    let legacy = LEGACY_NAMES
        .iter()
        .find(|(legacy, _)| *legacy == name)
        .map(|(_, kind)| *kind);
    let Some(kind) = IntentKind::from_name(name).or(legacy) else {
        return false;
    };
    let has_tool = |kind: IntentKind| kind.has_tool(tool) || acp_kind(kind) == Some(tool);
    has_tool(kind) || has_tool(IntentKind::Shell)
}

/// Returns the kind of the tool in ACP, which replaces a missing name.
fn acp_kind(kind: IntentKind) -> Option<&'static str> {
    match kind {
        IntentKind::Shell => Some("execute"),
        IntentKind::WriteFile | IntentKind::EditFile => Some("edit"),
        IntentKind::ReadFile => Some("read"),
        _ => None,
    }
}

/// Matches `mcp:server/tool`, however the agent joins the two.
fn is_mcp(name: &str, tool: &str) -> bool {
    let (server, expected) = name.split_once('/').unwrap_or(("", name));
    tool.contains(server) && tool.ends_with(expected)
}

/// Returns `true` if an input contains a pattern.
///
/// A field of the pattern is looked up by its name; if the agent uses another name for it, its
/// value must occur somewhere in the input. Texts must be contained, other values must be equal.
pub(super) fn contains(input: &Value, pattern: &Value) -> bool {
    match (input, pattern) {
        (Value::Object(fields), Value::Object(expected)) => {
            expected.iter().all(|(name, value)| match fields.get(name) {
                Some(field) => contains(field, value),
                None => anywhere(input, value),
            })
        }
        (Value::Array(items), Value::Array(expected)) => expected
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
    fn intents_match_the_tools_of_every_agent() {
        for (name, tool, expected) in [
            ("Bash", "Bash", true),
            ("shell", "exec_command", true),
            ("shell", "Write", false),
            ("shell", "execute", true),
            ("shell", "edit", false),
            ("write_file", "edit", true),
            ("edit_file", "edit", true),
            ("read_file", "read", true),
            ("write_file", "read", false),
            ("write_file", "apply_patch", true),
            ("Read", "read_file", true),
            ("read_file", "exec_command", true),
            ("Grep", "exec_command", false),
            ("mcp:demo/echo", "mcp__demo__echo", true),
            ("mcp:demo/echo", "mcp__demo__add", false),
        ] {
            assert_eq!(matches_tool(name, tool), expected, "{name} and {tool}");
        }
    }

    #[test]
    fn input_values_match_under_any_name() {
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
