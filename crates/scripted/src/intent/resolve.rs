//! The resolution of intents to calls of the offered tools.

use serde_json::{Value, json};
use windlass_wire::ToolCall;

use super::offered::ToolInputSchema;
use super::tools::{OfferedTools, freeform, function};
use super::{code, shell};
use crate::script::{Intent, IntentKind};

/// No offered tool can execute the intent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the request offers no tool for intent `{intent}`; offered: {offered}")]
pub(crate) struct NoTool {
    intent: IntentKind,
    offered: String,
}

impl OfferedTools<'_> {
    /// Returns the call for an intent; its id is still empty.
    pub(crate) fn call(&self, intent: &Intent) -> Result<ToolCall, NoTool> {
        let found = match intent {
            Intent::Raw { name, arguments } => {
                self.raw(name, arguments).or_else(|| self.code(intent))
            }
            Intent::Mcp { .. } => self.mcp_tool(intent),
            Intent::McpResources { .. } | Intent::McpResource { .. } => self.mcp_resource(intent),
            _ => self.direct_call(intent).or_else(|| self.shell_call(intent)),
        };
        found.ok_or_else(|| NoTool {
            intent: intent.kind(),
            offered: self.names(),
        })
    }

    /// Returns the intents that the offered tools can execute.
    pub(crate) fn intents(&self) -> Vec<IntentKind> {
        let empty = String::new;
        let candidates = [
            Intent::Shell { command: empty() },
            Intent::WriteFile {
                path: empty(),
                content: empty(),
            },
            Intent::EditFile {
                path: empty(),
                old: empty(),
                new: empty(),
            },
            Intent::ReadFile { path: empty() },
            Intent::McpResources { server: empty() },
            Intent::McpResource {
                server: empty(),
                uri: empty(),
            },
        ];
        let possible = candidates.iter().filter(|intent| self.call(intent).is_ok());
        possible.map(Intent::kind).collect()
    }

    fn shell_call(&self, intent: &Intent) -> Option<ToolCall> {
        let command = shell::for_intent(intent)?;
        self.direct_call(&Intent::Shell { command })
    }

    /// Returns a call of a tool by its own name, offered or not: a test may check how an agent handles a
    /// missing tool.
    fn raw(&self, name: &str, arguments: &Value) -> Option<ToolCall> {
        let tool = self.tools_named(name).next();
        if tool.is_none() && self.tools.iter().any(code::is_code_tool) {
            return None;
        }
        Some(match (tool.map(|tool| tool.input), arguments) {
            (Some(ToolInputSchema::Text(_)), Value::String(text)) => freeform(name, text.clone()),
            (_, Value::Null) => function(name, &json!({})),
            (_, arguments) => function(name, arguments),
        })
    }
}
