//! Codex's code mode: its newest models have one tool, which takes JavaScript that calls the others.

use serde_json::{Value, json};

use super::mcp::namespace;
use super::offered::{OfferedTool, ToolInputSchema};
use super::{patch, shell};
use crate::script::Intent;

/// Whether this is the tool.
pub(super) fn is_code_tool(offer: &OfferedTool<'_>) -> bool {
    offer.name == "exec"
        && matches!(offer.takes, ToolInputSchema::Text(about) if about.contains("JavaScript"))
}

/// The program that does this.
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
    // JSON is JavaScript, and a name may hold what an identifier may not.
    Some(format!(
        "text(await tools[{}]({input}));",
        Value::from(tool)
    ))
}
