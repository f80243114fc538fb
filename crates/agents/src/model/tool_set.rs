//! The tools that the model of one session may call.

use std::fmt;
use std::sync::Arc;

use windlass_core::{Tool, ToolKind};
use windlass_wire as wire;

/// The tools of one session, with unique names.
#[derive(Clone, Default)]
pub(super) struct ToolSet {
    tools: Vec<Arc<dyn Tool>>,
}

impl ToolSet {
    /// Adds tools. A tool with a name that exists already is ignored: the user knows the first tool under this name.
    pub(super) fn add(&mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) {
        for tool in tools {
            let name = &tool.spec().name;
            if self.find(name).is_some() {
                tracing::warn!(name, "duplicate tool name: the later tool is ignored");
            } else {
                self.tools.push(tool);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    pub(super) fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }

    /// Returns the names as a list, for the error about an unknown tool.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self
            .tools
            .iter()
            .map(|tool| tool.spec().name.as_str())
            .collect();
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    }

    /// Converts the tools to definitions for a model API.
    pub(super) fn to_wire(&self) -> Vec<wire::ToolDefinition> {
        let define = |tool: &Arc<dyn Tool>| {
            let spec = tool.spec();
            wire::ToolDefinition::Function(wire::FunctionTool {
                description: Some(spec.description.clone()),
                schema: spec.parameters.clone(),
                ..wire::FunctionTool::new(&spec.name)
            })
        };
        self.tools.iter().map(define).collect()
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolSet({})", self.names())
    }
}

/// Returns `true` if a tool only reads. Such a tool needs no permission and may run concurrently with others.
pub(super) fn is_read_only(tool: &dyn Tool) -> bool {
    tool.spec().kind == ToolKind::Read
}
