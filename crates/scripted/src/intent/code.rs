//! Codex's code mode: its newest models have one tool, which takes JavaScript that calls the others.

use serde_json::{Value, json};

use super::offered::{OfferedTool, ToolInputSchema};
use super::{patch, shell};
use crate::script::Intent;

/// Returns `true` if this is the code mode tool.
pub(super) fn is_code_tool(tool: &OfferedTool<'_>) -> bool {
    tool.name == "exec"
        && matches!(tool.input, ToolInputSchema::Text(about) if about.contains("JavaScript"))
}

/// Returns Codex's namespace for a server: letters, digits and underscores.
pub(super) fn namespace(server: &str) -> String {
    let sanitize = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = server.chars().map(sanitize).collect();
    format!("mcp__{name}")
}

/// Returns the program for an intent.
pub(super) fn program(intent: &Intent) -> Option<String> {
    let (tool, input) = match intent {
        Intent::Mcp {
            server,
            tool,
            arguments,
        } => (format!("{}__{tool}", namespace(server)), json!(arguments)),
        Intent::McpResources { server } => {
            ("list_mcp_resources".to_owned(), json!({ "server": server }))
        }
        Intent::McpResource { server, uri } => (
            "read_mcp_resource".to_owned(),
            json!({ "server": server, "uri": uri }),
        ),
        Intent::Raw { name, arguments } => (name.clone(), arguments.clone()),
        file => match patch::for_intent(file) {
            Some(patch) => ("apply_patch".to_owned(), Value::from(patch)),
            None => (
                "exec_command".to_owned(),
                json!({ "cmd": shell::for_intent(file)? }),
            ),
        },
    };
    // JSON is valid JavaScript, and a tool's name may contain characters that an identifier cannot.
    Some(format!(
        "text(await tools[{}]({input}));",
        Value::from(tool)
    ))
}
