//! The tools that one request offers, and calls of them.

use serde_json::{Value, json};
use windlass_wire::{ModelRequest, ToolCall, ToolInputKind};

use super::offered::{OfferedTool, ToolInputSchema, offered_tools};
use super::table::{self, IntentTools};
use super::{code, fill, patch};
use crate::script::Intent;
use crate::workdir::AgentWorkdir;

/// The tools that one request offers, and its agent's working directory.
#[derive(Debug)]
pub(crate) struct OfferedTools<'a> {
    pub(super) request: &'a ModelRequest,
    pub(super) tools: Vec<OfferedTool<'a>>,
    workdir: AgentWorkdir,
}

impl<'a> OfferedTools<'a> {
    /// Collects the tools of a request. `workspace` is the script's setting for the agent's working
    /// directory.
    pub(crate) fn new(request: &'a ModelRequest, workspace: Option<&str>) -> Self {
        Self {
            request,
            tools: offered_tools(request),
            workdir: AgentWorkdir::from_request(request, workspace),
        }
    }

    /// Returns the call for a structured answer, if the agent has a tool for it.
    pub(crate) fn structured(&self, object: &Value) -> Option<ToolCall> {
        let tool = self
            .tools
            .iter()
            .find(|tool| table::STRUCTURED.contains(&tool.name))?;
        Some(function(tool.name, object))
    }

    /// Returns the names of the tools, for a message.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.name).collect();
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    }

    /// Returns a call of a tool for this intent, by name or by schema.
    pub(super) fn direct_call(&self, intent: &Intent) -> Option<ToolCall> {
        let row = table::row(intent.kind())?;
        let known = row.names.iter().flat_map(|name| self.tools_named(name));
        self.first_usable(known, intent)
            .or_else(|| self.patch(intent))
            .or_else(|| self.code(intent))
            .or_else(|| self.first_usable(self.similar(row), intent))
    }

    /// Returns the tools with this name.
    pub(super) fn tools_named(&self, name: &str) -> impl Iterator<Item = &OfferedTool<'a>> {
        self.tools.iter().filter(move |tool| tool.name == name)
    }

    /// Returns tools with unknown names that contain a hint.
    fn similar(&self, row: &'static IntentTools) -> impl Iterator<Item = &OfferedTool<'a>> {
        self.tools.iter().filter(|tool| {
            let name = tool.name.to_ascii_lowercase();
            row.hints.is_empty() || row.hints.iter().any(|hint| name.contains(hint))
        })
    }

    fn first_usable<'o>(
        &self,
        mut tools: impl Iterator<Item = &'o OfferedTool<'a>>,
        intent: &Intent,
    ) -> Option<ToolCall>
    where
        'a: 'o,
    {
        let slots = table::slots(intent);
        let in_subdir = matches!(intent, Intent::WriteFile { path, .. } if path.contains('/'));
        tools.find_map(|tool| match tool.input {
            ToolInputSchema::Object(_)
                if in_subdir && table::NEEDS_EXISTING_DIR.contains(&tool.name) =>
            {
                None
            }
            ToolInputSchema::Object(schema) => {
                let input = fill::fill_input(schema, &slots, table::action(intent), &self.workdir)?;
                Some(function(tool.name, &input))
            }
            ToolInputSchema::Text(_) => None,
        })
    }

    fn patch(&self, intent: &Intent) -> Option<ToolCall> {
        let tool = self.tools_named(table::PATCH).next()?;
        let patch = patch::for_intent(intent)?;
        Some(match tool.input {
            ToolInputSchema::Text(_) => freeform(tool.name, patch),
            ToolInputSchema::Object(_) => function(tool.name, &json!({ "input": patch })),
        })
    }

    /// Returns a call of the code mode tool.
    pub(super) fn code(&self, intent: &Intent) -> Option<ToolCall> {
        let tool = self.tools.iter().find(|tool| code::is_code_tool(tool))?;
        Some(freeform(tool.name, code::program(intent)?))
    }
}

/// Creates a call with an object.
pub(super) fn function(name: &str, input: &Value) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        kind: ToolInputKind::Function,
        input: input.to_string(),
        ..ToolCall::default()
    }
}

/// Creates a call with plain text.
pub(super) fn freeform(name: &str, input: String) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        kind: ToolInputKind::Freeform,
        input,
        ..ToolCall::default()
    }
}
