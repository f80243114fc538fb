//! A wish becomes a call of the tool that the asking agent really offers, so that one script drives any agent.
//!
//! Tried in this order: a tool of a known name whose schema has a place for everything; Codex's patch tool; Codex's code mode;
//! a tool of unknown name but fitting shape; and for files, the shell.

mod code;
mod fill;
mod offer;
mod patch;
mod shell;
mod table;

use serde_json::{Map, Value, json};
use windlass_wire::{Dialect, Extra, ModelRequest, ToolCall, ToolKind};

pub(crate) use offer::offers;
use offer::{Offer, Takes};
use table::Row;

use crate::script::{Intent, IntentKind};
use crate::workspace::Workspace;

/// No tool on offer can do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tool for `{wish}` is offered, only: {offered}")]
pub(crate) struct NoTool {
    wish: IntentKind,
    offered: String,
}

/// What one request offers, and where its agent works.
#[derive(Debug)]
pub(crate) struct Toolbox<'a> {
    request: &'a ModelRequest,
    offers: Vec<Offer<'a>>,
    workspace: Workspace,
}

impl<'a> Toolbox<'a> {
    /// Looks through a request; `workspace` is the script's own word on where the agent works.
    pub(crate) fn new(request: &'a ModelRequest, workspace: Option<&str>) -> Self {
        Self {
            request,
            offers: offers(request),
            workspace: Workspace::of(request, workspace),
        }
    }

    /// The call that does this; its id is still empty.
    pub(crate) fn call(&self, intent: &Intent) -> Result<ToolCall, NoTool> {
        let found = match intent {
            Intent::Raw { name, arguments } => Some(self.raw(name, arguments)),
            Intent::Mcp {
                server,
                tool,
                arguments,
            } => self
                .mcp(server, tool, arguments)
                .or_else(|| self.code(intent)),
            Intent::McpResources { .. } | Intent::McpResource { .. } => {
                self.direct(intent).or_else(|| self.deferred(intent))
            }
            _ => self.direct(intent).or_else(|| self.through_shell(intent)),
        };
        found.ok_or_else(|| NoTool {
            wish: intent.kind(),
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

    fn direct(&self, intent: &Intent) -> Option<ToolCall> {
        let row = table::row(intent.kind())?;
        let known = row.names.iter().flat_map(|name| self.named(name));
        self.first_that_fits(known, intent)
            .or_else(|| self.patch(intent))
            .or_else(|| self.code(intent))
            .or_else(|| self.first_that_fits(self.alike(row), intent))
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Offer<'a>> {
        self.offers.iter().filter(move |offer| offer.name == name)
    }

    /// Tools that nobody knows but whose names sound right.
    fn alike(&self, row: &'static Row) -> impl Iterator<Item = &Offer<'a>> {
        self.offers.iter().filter(|offer| {
            let name = offer.name.to_ascii_lowercase();
            row.hints.is_empty() || row.hints.iter().any(|hint| name.contains(hint))
        })
    }

    fn first_that_fits<'o>(
        &self,
        mut offers: impl Iterator<Item = &'o Offer<'a>>,
        intent: &Intent,
    ) -> Option<ToolCall>
    where
        'a: 'o,
    {
        let slots = table::slots(intent);
        let in_folder = matches!(intent, Intent::WriteFile { path, .. } if path.contains('/'));
        offers.find_map(|offer| match offer.takes {
            Takes::Object(_) if in_folder && table::NEEDS_FOLDER.contains(&offer.name) => None,
            Takes::Object(schema) => {
                let input = fill::object(schema, &slots, &self.workspace)?;
                Some(function(offer.name, &input))
            }
            Takes::Text(_) => None,
        })
    }

    fn patch(&self, intent: &Intent) -> Option<ToolCall> {
        let offer = self.named(table::PATCH).next()?;
        let patch = patch::of(intent)?;
        Some(match offer.takes {
            Takes::Text(_) => freeform(offer.name, patch),
            Takes::Object(_) => function(offer.name, &json!({ "input": patch })),
        })
    }

    fn code(&self, intent: &Intent) -> Option<ToolCall> {
        let offer = self.offers.iter().find(|offer| code::is(offer))?;
        Some(freeform(offer.name, code::program(intent)?))
    }

    fn through_shell(&self, intent: &Intent) -> Option<ToolCall> {
        let command = shell::of(intent)?;
        self.direct(&Intent::Shell { command })
    }

    /// Whether this is a Claude Code that lists only some of its tools and knows the others all the same.
    fn defers(&self) -> bool {
        self.named("ToolSearch").next().is_some()
    }

    /// A tool that Claude Code knows without listing it.
    fn deferred(&self, intent: &Intent) -> Option<ToolCall> {
        let name = table::row(intent.kind())?.names.first()?;
        let input = table::slots(intent)
            .into_iter()
            .filter_map(|(slot, value)| {
                let key = (*slot.first()?).to_owned();
                Some((key, Value::from(value)))
            });
        let input = Value::Object(input.collect());
        self.defers().then(|| function(name, &input))
    }

    fn raw(&self, name: &str, arguments: &Value) -> ToolCall {
        let takes = self.named(name).next().map(|offer| offer.takes);
        match (takes, arguments) {
            (Some(Takes::Text(_)), Value::String(text)) => freeform(name, text.clone()),
            (_, Value::Null) => function(name, &json!({})),
            (_, arguments) => function(name, arguments),
        }
    }

    /// An MCP tool, by one of the names that agents make of server and tool.
    fn mcp(&self, server: &str, tool: &str, arguments: &Map<String, Value>) -> Option<ToolCall> {
        let input = json!(arguments);
        let names = [
            format!("mcp__{server}__{tool}"), // Claude Code, Qwen
            format!("mcp_{server}_{tool}"),   // Gemini
            format!("{server}__{tool}"),
            format!("{server}_{tool}"), // opencode
            format!("{server}-{tool}"), // Copilot
            tool.to_owned(),
        ];
        let offered = names.iter().find(|name| self.named(name).next().is_some());
        if let Some(name) = offered {
            return Some(function(name, &input));
        }
        // Neither Claude Code nor Codex lists them before its model has searched for them, but both know them.
        if self.defers() {
            return Some(function(&names[0], &input));
        }
        let codex = self.request.origin == Some(Dialect::Responses)
            && self.named("exec_command").next().is_some();
        codex.then(|| {
            let mut extra = Extra::new();
            extra.insert("namespace".to_owned(), format!("mcp__{server}").into());
            ToolCall {
                extra,
                ..function(tool, &input)
            }
        })
    }
}

fn function(name: &str, input: &Value) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        kind: ToolKind::Function,
        input: input.to_string(),
        ..ToolCall::default()
    }
}

fn freeform(name: &str, input: String) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        kind: ToolKind::Freeform,
        input,
        ..ToolCall::default()
    }
}
