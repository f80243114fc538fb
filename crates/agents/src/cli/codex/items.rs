//! Codex's items: messages, thoughts, tools. Both transports report them, in two spellings.

use std::borrow::Cow;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::{AgentEvent, PlanEntry, PlanStatus};

/// An item, in the spelling of `exec` or of the app server.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item<'a> {
    #[serde(borrow)]
    pub(super) id: Cow<'a, str>,
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) text: Option<String>,
    message: Option<String>,
    status: Option<String>,
    command: Option<String>,
    #[serde(alias = "aggregatedOutput")]
    aggregated_output: Option<String>,
    #[serde(alias = "exitCode")]
    exit_code: Option<i64>,
    #[serde(alias = "durationMs")]
    duration_ms: Option<u64>,
    changes: Option<Value>,
    server: Option<String>,
    tool: Option<String>,
    arguments: Option<Value>,
    result: Option<Value>,
    error: Option<Value>,
    query: Option<String>,
    summary: Option<Vec<String>>,
    items: Option<Vec<PlanItem>>,
}

#[derive(Debug, Deserialize)]
struct PlanItem {
    text: String,
    #[serde(default)]
    completed: bool,
}

/// How an item is handled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    Answer,
    Thought,
    Tool,
    Plan,
    Notice,
    Prompt,
    Other,
}

impl Item<'_> {
    pub(super) fn kind(&self) -> ItemKind {
        match &*self.kind {
            "agent_message" | "agentMessage" => ItemKind::Answer,
            "reasoning" => ItemKind::Thought,
            "command_execution"
            | "commandExecution"
            | "file_change"
            | "fileChange"
            | "mcp_tool_call"
            | "mcpToolCall"
            | "web_search"
            | "webSearch"
            | "dynamicToolCall"
            | "collab_tool_call"
            | "collabAgentToolCall" => ItemKind::Tool,
            "todo_list" => ItemKind::Plan,
            "error" => ItemKind::Notice,
            "userMessage" => ItemKind::Prompt,
            _ => ItemKind::Other,
        }
    }

    /// Returns the agent's reasoning, in either of its fields.
    pub(super) fn reasoning_text(self) -> Option<String> {
        let summary = self.summary.map(|parts| parts.join("\n"));
        self.text.or(summary).filter(|text| !text.is_empty())
    }

    pub(super) fn plan(self) -> AgentEvent {
        let step = |step: PlanItem| PlanEntry {
            step: step.text,
            status: if step.completed {
                PlanStatus::Completed
            } else {
                PlanStatus::Pending
            },
        };
        let entries = self.items.unwrap_or_default();
        AgentEvent::Plan {
            entries: entries.into_iter().map(step).collect(),
        }
    }

    /// Creates an event for a message of Codex that is neither an answer nor an error, such as a warning about
    /// an unknown model.
    pub(super) fn notice(self) -> AgentEvent {
        AgentEvent::custom("notice", json!({ "message": self.message.or(self.text) }))
    }

    /// Returns the paths of a file change.
    pub(super) fn changed_paths(&self) -> Vec<PathBuf> {
        let changes = self.changes.as_ref().and_then(Value::as_array);
        let path = |change: &Value| change["path"].as_str().map(PathBuf::from);
        changes.into_iter().flatten().filter_map(path).collect()
    }

    pub(super) fn tool_start(&self, id: String) -> AgentEvent {
        AgentEvent::ToolStart {
            id,
            name: self.tool_name(),
            input: match &*self.kind {
                "command_execution" | "commandExecution" => json!({ "command": self.command }),
                "file_change" | "fileChange" => json!({ "changes": self.changes }),
                "web_search" | "webSearch" => json!({ "query": self.query }),
                _ => self.arguments.clone().unwrap_or_default(),
            },
        }
    }

    pub(super) fn tool_end(self, id: String) -> AgentEvent {
        let completed = self
            .status
            .as_deref()
            .is_none_or(|status| status == "completed");
        let declined = self.status.as_deref() == Some("declined");
        let name = self.tool_name();
        AgentEvent::ToolEnd {
            id,
            name,
            success: completed
                && self.exit_code.is_none_or(|code| code == 0)
                && self.error.is_none(),
            duration_ms: self.duration_ms.unwrap_or(0),
            // Outputs are large, so they are moved; `json!` would copy them.
            output: match &*self.kind {
                _ if declined => json!({ "error": "permission denied" }),
                "command_execution" | "commandExecution" => object([
                    ("output", self.aggregated_output.into()),
                    ("exit_code", self.exit_code.into()),
                ]),
                "file_change" | "fileChange" => object([("changes", self.changes.into())]),
                _ => self.result.or(self.error).unwrap_or_default(),
            },
        }
    }

    fn tool_name(&self) -> String {
        match &*self.kind {
            "command_execution" | "commandExecution" => "shell".to_owned(),
            "file_change" | "fileChange" => "apply_patch".to_owned(),
            "web_search" | "webSearch" => "web_search".to_owned(),
            kind => match (&self.server, &self.tool) {
                // Codex's own tools, although it reports them as the server's.
                (_, Some(tool)) if tool.contains("_mcp_resource") => tool.clone(),
                (Some(server), Some(tool)) => format!("{server}.{tool}"),
                (None, Some(tool)) => tool.clone(),
                _ => kind.to_owned(),
            },
        }
    }
}

/// Creates an object of these fields.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let fields = fields.map(|(name, value)| (name.to_owned(), value));
    Value::Object(fields.into_iter().collect())
}
