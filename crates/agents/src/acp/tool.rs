//! The state of one tool call, and its start and end events. Pure.

use agent_client_protocol::v1::schema::{
    ContentBlock, Meta, ToolCallContent, ToolCallStatus, ToolCallUpdateFields, ToolKind,
};
use serde_json::{Value, json};
use windlass_core::AgentEvent;

/// Maximum number of paths of one tool.
const MAX_PATHS: usize = 256;

/// The state of a tool call.
#[derive(Debug, Default)]
pub(super) struct ToolState {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: Option<ToolKind>,
    pub(super) input: Value,
    pub(super) paths: Vec<std::path::PathBuf>,
    title: String,
    output: String,
    exit: Option<i64>,
    /// Whether its start event was emitted.
    pub(super) started: bool,
    pub(super) ended: bool,
    /// Whether the turn was cancelled while it ran.
    pub(super) interrupted: bool,
    /// Whether it was not allowed to run.
    pub(super) denied: bool,
}

impl ToolState {
    pub(super) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            ..Self::default()
        }
    }

    /// Applies one update.
    pub(super) fn update(&mut self, fields: &ToolCallUpdateFields, meta: Option<&Meta>) {
        if let Some(name) = fields.name.clone().or_else(|| tool_name(meta)) {
            self.name = name;
        }
        self.kind = fields.kind.or(self.kind);
        if let Some(title) = &fields.title {
            self.title.clone_from(title);
        }
        if let Some(input) = fields.raw_input.as_ref().filter(|input| !is_empty(input)) {
            self.input = input.clone();
        }
        let locations = fields
            .locations
            .iter()
            .flatten()
            .map(|location| &location.path);
        let diffs = fields
            .content
            .iter()
            .flatten()
            .filter_map(|content| match content {
                ToolCallContent::Diff(diff) => Some(&diff.path),
                _ => None,
            });
        for path in locations.chain(diffs) {
            if !self.paths.contains(path) && self.paths.len() < MAX_PATHS {
                self.paths.push(path.clone());
            }
        }
        let delta = meta.and_then(|meta| meta.get("terminal_output_delta"));
        if let Some(data) = delta.and_then(|delta| delta["data"].as_str())
            && self.output.len() < windlass_core::limits::OUTPUT_BYTES
        {
            self.output.push_str(data);
        }
        let exit = meta.and_then(|meta| meta.get("terminal_exit"));
        self.exit = exit
            .and_then(|exit| exit["exit_code"].as_i64())
            .or(self.exit);
    }

    /// Returns the start event, if it was not emitted yet.
    pub(super) fn start_event(&mut self) -> Option<AgentEvent> {
        (!std::mem::replace(&mut self.started, true)).then(|| AgentEvent::ToolStart {
            id: self.id.clone(),
            name: self.display_name(),
            input: self.input_or_title(),
        })
    }

    /// Returns the tool's name, or its kind if it has no name.
    pub(super) fn display_name(&self) -> String {
        if !self.name.is_empty() {
            return self.name.clone();
        }
        let kind = self.kind.and_then(|kind| serde_json::to_value(kind).ok());
        let kind = kind.as_ref().and_then(Value::as_str);
        kind.unwrap_or("tool").to_owned()
    }

    /// Returns the tool's input, or its title and paths if the agent does not report the input.
    pub(super) fn input_or_title(&self) -> Value {
        if !is_empty(&self.input) {
            self.input.clone()
        } else if self.paths.is_empty() {
            json!({ "title": self.title })
        } else {
            json!({ "title": self.title, "paths": self.paths })
        }
    }

    /// Returns the end event of a tool if the agent completed the turn without reporting one.
    pub(super) fn assumed_end_event(&mut self) -> AgentEvent {
        self.ended = true;
        let output = if self.denied {
            json!({ "error": "refused" })
        } else {
            Value::Null
        };
        AgentEvent::ToolEnd {
            id: self.id.clone(),
            name: self.display_name(),
            success: !self.denied,
            output,
            duration_ms: 0,
        }
    }

    /// Returns the end event. An exit code takes precedence over the agent's status.
    pub(super) fn end_event(
        &mut self,
        fields: &ToolCallUpdateFields,
        exit_code_prefix: Option<&str>,
    ) -> AgentEvent {
        self.ended = true;
        let output = match &fields.raw_output {
            Some(output) if !output.is_null() => output.clone(),
            _ if !self.output.is_empty() => Value::from(std::mem::take(&mut self.output)),
            _ => content_of(fields),
        };
        let from_text = || exit_code_prefix.and_then(|prefix| exit_after(prefix, &output));
        let exit = self.exit.or_else(|| exit_in(&output)).or_else(from_text);
        // Some agents report a command as completed that they have just killed; those report no exit code.
        let succeeded = exit.map_or(!self.interrupted, |code| code == 0);
        AgentEvent::ToolEnd {
            id: self.id.clone(),
            name: self.display_name(),
            success: fields.status == Some(ToolCallStatus::Completed) && succeeded,
            output,
            duration_ms: 0,
        }
    }
}

/// Returns a tool's name from `_meta`, for agents that do not use the protocol's field.
fn tool_name(meta: Option<&Meta>) -> Option<String> {
    let meta = meta?;
    let nested = meta.values().find_map(|value| value["toolName"].as_str());
    let name = meta.get("toolName").and_then(Value::as_str).or(nested);
    name.map(str::to_owned)
}

fn exit_in(output: &Value) -> Option<i64> {
    let fields = [
        &output["exitCode"],
        &output["exit_code"],
        &output["metadata"]["exit"],
        &output["shellExecution"]["exitCode"],
    ];
    fields.into_iter().find_map(Value::as_i64)
}

/// Parses the exit code in the last line, which the agent appended to the command's output.
fn exit_after(prefix: &str, output: &Value) -> Option<i64> {
    let last = output["content"].as_str()?.lines().next_back()?;
    let (_, code) = last.split_once(prefix)?;
    code.trim_end_matches('>').parse().ok()
}

fn content_of(fields: &ToolCallUpdateFields) -> Value {
    let parts = fields.content.iter().flatten();
    let text: Vec<String> = parts
        .filter_map(|content| match content {
            ToolCallContent::Content(content) => text_of(&content.content).map(str::to_owned),
            ToolCallContent::Diff(diff) => Some(format!("changed {}", diff.path.display())),
            _ => None,
        })
        .collect();
    Value::from(text.join("\n"))
}

pub(super) fn text_of(content: &ContentBlock) -> Option<&str> {
    match content {
        ContentBlock::Text(text) => Some(&text.text),
        _ => None,
    }
}

pub(super) fn is_empty(input: &Value) -> bool {
    input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty)
}
