//! Calls to an MCP server through the agent.

use serde_json::{Value, json};
use windlass_wire::{Dialect, Extra, ToolCall};

use super::code::namespace;
use super::table;
use super::tools::{OfferedTools, function};
use crate::script::Intent;

/// The field of a call in which Codex expects the server.
pub(crate) const NAMESPACE: &str = "namespace";

impl OfferedTools<'_> {
    /// Returns a call of a server's tool, by one of the names that agents give it.
    pub(super) fn mcp_tool(&self, intent: &Intent) -> Option<ToolCall> {
        let Intent::Mcp {
            server,
            tool,
            arguments,
        } = intent
        else {
            return None;
        };
        let input = json!(arguments);
        let names = [
            format!("mcp__{server}__{tool}"), // Claude Code, Qwen
            format!("mcp_{server}_{tool}"),   // Gemini
            format!("{server}__{tool}"),
            format!("{server}_{tool}"), // opencode
            format!("{server}-{tool}"), // Copilot
            tool.clone(),
        ];
        let offered = names
            .iter()
            .find(|name| self.tools_named(name).next().is_some());
        if let Some(name) = offered {
            return Some(function(name, &input));
        }
        // Neither Claude Code nor Codex lists them before its model has searched for them, but both accept
        // calls.
        if self.has_deferred_tools() {
            return Some(function(&names[0], &input));
        }
        if self.request.origin != Some(Dialect::Responses)
            || self.tools_named("exec_command").next().is_none()
        {
            return self.code(intent);
        }
        let mut extra = Extra::new();
        extra.insert(NAMESPACE.to_owned(), namespace(server).into());
        Some(ToolCall {
            extra,
            ..function(tool, &input)
        })
    }

    /// Returns a call of the agent's own tool for MCP resources.
    pub(super) fn mcp_resource(&self, intent: &Intent) -> Option<ToolCall> {
        self.direct_call(intent).or_else(|| {
            let name = table::row(intent.kind())?.names.first()?;
            let slots = table::slots(intent).into_iter();
            let input =
                slots.filter_map(|(slot, value)| Some(((*slot.first()?).to_owned(), value.into())));
            let input = Value::Object(input.collect());
            self.has_deferred_tools().then(|| function(name, &input))
        })
    }

    /// Returns `true` for a Claude Code that lists only some of its tools and accepts calls of the others.
    fn has_deferred_tools(&self) -> bool {
        self.tools_named("ToolSearch").next().is_some()
    }
}
