//! Everything that the model of one session may call.

use std::fmt;
use std::sync::Arc;

use windlass_core::{Tool, ToolKind};
use windlass_wire as wire;

/// The tools of one session, each name once.
#[derive(Clone, Default)]
pub(super) struct ToolSet {
    tools: Vec<Arc<dyn Tool>>,
}

impl ToolSet {
    /// Adds tools. One whose name is taken already is left out: what came first is what the user was told of.
    pub(super) fn add(&mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) {
        for tool in tools {
            let name = &tool.spec().name;
            if self.find(name).is_some() {
                tracing::warn!(name, "two tools have this name: the later is left out");
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

    /// The names, for a model that made one up.
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

    /// The tools as a model API offers them.
    pub(super) fn to_wire(&self) -> Vec<wire::ToolDefinition> {
        let offer = |tool: &Arc<dyn Tool>| {
            let spec = tool.spec();
            wire::ToolDefinition::Function(wire::FunctionTool {
                description: Some(spec.description.clone()),
                schema: spec.parameters.clone(),
                ..wire::FunctionTool::new(&spec.name)
            })
        };
        self.tools.iter().map(offer).collect()
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kit({})", self.names())
    }
}

/// Whether a tool only looks, so that it needs no consent and disturbs no other.
pub(super) fn is_read_only(tool: &dyn Tool) -> bool {
    tool.spec().kind == ToolKind::Read
}
