//! What one request offers, and the calls that can be made of it.

use serde_json::{Value, json};
use windlass_wire::{ModelRequest, ToolCall, ToolInputKind};

use super::offered::{OfferedTool, ToolInputSchema, offered_tools};
use super::table::{self, IntentTools};
use super::{code, fill, patch, shell};
use crate::script::{Intent, IntentKind};
use crate::workdir::AgentWorkdir;

/// No tool on offer can do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tool for `{intent}` is offered, only: {offered}")]
pub(crate) struct NoTool {
    intent: IntentKind,
    offered: String,
}

/// What one request offers, and where its agent works.
#[derive(Debug)]
pub(crate) struct OfferedTools<'a> {
    pub(super) request: &'a ModelRequest,
    offers: Vec<OfferedTool<'a>>,
    workspace: AgentWorkdir,
}

impl<'a> OfferedTools<'a> {
    /// Looks through a request; `workspace` is the script's own word on where the agent works.
    pub(crate) fn new(request: &'a ModelRequest, workspace: Option<&str>) -> Self {
        Self {
            request,
            offers: offered_tools(request),
            workspace: AgentWorkdir::from_request(request, workspace),
        }
    }

    /// The call that does this; its id is still empty.
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

    /// The call for a structured answer, where the agent has a tool for it.
    pub(crate) fn structured(&self, object: &Value) -> Option<ToolCall> {
        let tool = self
            .offers
            .iter()
            .find(|offer| table::STRUCTURED.contains(&offer.name))?;
        Some(function(tool.name, object))
    }

    /// The intents that can be fulfilled.
    pub(crate) fn intents(&self) -> Vec<IntentKind> {
        let word = String::new;
        let wishes = [
            Intent::Shell { command: word() },
            Intent::WriteFile {
                path: word(),
                content: word(),
            },
            Intent::EditFile {
                path: word(),
                old: word(),
                new: word(),
            },
            Intent::ReadFile { path: word() },
            Intent::McpResources { server: word() },
            Intent::McpResource {
                server: word(),
                uri: word(),
            },
        ];
        let possible = wishes.iter().filter(|wish| self.call(wish).is_ok());
        possible.map(Intent::kind).collect()
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.offers.iter().map(|offer| offer.name).collect();
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    }

    /// A tool that is there for this, or that can do it.
    pub(super) fn direct_call(&self, intent: &Intent) -> Option<ToolCall> {
        let row = table::row(intent.kind())?;
        let known = row.names.iter().flat_map(|name| self.tools_named(name));
        self.first_usable(known, intent)
            .or_else(|| self.patch(intent))
            .or_else(|| self.code(intent))
            .or_else(|| self.first_usable(self.similar(row), intent))
    }

    /// The tools of this name.
    pub(super) fn tools_named(&self, name: &str) -> impl Iterator<Item = &OfferedTool<'a>> {
        self.offers.iter().filter(move |offer| offer.name == name)
    }

    /// Tools that nobody knows but whose names sound right.
    fn similar(&self, row: &'static IntentTools) -> impl Iterator<Item = &OfferedTool<'a>> {
        self.offers.iter().filter(|offer| {
            let name = offer.name.to_ascii_lowercase();
            row.hints.is_empty() || row.hints.iter().any(|hint| name.contains(hint))
        })
    }

    fn first_usable<'o>(
        &self,
        mut offers: impl Iterator<Item = &'o OfferedTool<'a>>,
        intent: &Intent,
    ) -> Option<ToolCall>
    where
        'a: 'o,
    {
        let slots = table::slots(intent);
        let in_folder = matches!(intent, Intent::WriteFile { path, .. } if path.contains('/'));
        offers.find_map(|offer| match offer.takes {
            ToolInputSchema::Object(_)
                if in_folder && table::NEEDS_FOLDER.contains(&offer.name) =>
            {
                None
            }
            ToolInputSchema::Object(schema) => {
                let input = fill::fill_input(schema, &slots, &self.workspace)?;
                Some(function(offer.name, &input))
            }
            ToolInputSchema::Text(_) => None,
        })
    }

    fn patch(&self, intent: &Intent) -> Option<ToolCall> {
        let offer = self.tools_named(table::PATCH).next()?;
        let patch = patch::for_intent(intent)?;
        Some(match offer.takes {
            ToolInputSchema::Text(_) => freeform(offer.name, patch),
            ToolInputSchema::Object(_) => function(offer.name, &json!({ "input": patch })),
        })
    }

    pub(super) fn code(&self, intent: &Intent) -> Option<ToolCall> {
        let offer = self.offers.iter().find(|offer| code::is_code_tool(offer))?;
        Some(freeform(offer.name, code::program(intent)?))
    }

    fn shell_call(&self, intent: &Intent) -> Option<ToolCall> {
        let command = shell::for_intent(intent)?;
        self.direct_call(&Intent::Shell { command })
    }

    /// A tool by its own name, offered or not: what an agent makes of a tool that is not there may be what is tested.
    fn raw(&self, name: &str, arguments: &Value) -> Option<ToolCall> {
        let offer = self.tools_named(name).next();
        if offer.is_none() && self.offers.iter().any(code::is_code_tool) {
            return None;
        }
        Some(match (offer.map(|offer| offer.takes), arguments) {
            (Some(ToolInputSchema::Text(_)), Value::String(text)) => freeform(name, text.clone()),
            (_, Value::Null) => function(name, &json!({})),
            (_, arguments) => function(name, arguments),
        })
    }
}

/// A call with an object.
pub(super) fn function(name: &str, input: &Value) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        kind: ToolInputKind::Function,
        input: input.to_string(),
        ..ToolCall::default()
    }
}

/// A call with plain text.
fn freeform(name: &str, input: String) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        kind: ToolInputKind::Freeform,
        input,
        ..ToolCall::default()
    }
}
