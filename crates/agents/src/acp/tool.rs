//! What is known of one tool of an agent, and what its start and end say. Pure.

use agent_client_protocol::v1::schema::{
    ContentBlock, Meta, ToolCallContent, ToolCallStatus, ToolCallUpdateFields, ToolKind,
};
use serde_json::{Value, json};
use windlass_core::AgentEvent;

/// How many paths of one tool are kept.
const MAX_PATHS: usize = 256;

/// What is known of a tool.
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
    /// Whether its start was told.
    pub(super) told: bool,
    pub(super) ended: bool,
    /// Whether the turn was stopped while it ran.
    pub(super) broken_off: bool,
}

impl ToolState {
    pub(super) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            ..Self::default()
        }
    }

    /// Takes up what one piece of news says of it.
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
        let locations = fields.locations.iter().flatten().map(|place| &place.path);
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
        let said = meta.and_then(|meta| meta.get("terminal_output_delta"));
        if let Some(data) = said.and_then(|said| said["data"].as_str())
            && self.output.len() < windlass_core::limits::OUTPUT_BYTES
        {
            self.output.push_str(data);
        }
        let exit = meta.and_then(|meta| meta.get("terminal_exit"));
        self.exit = exit
            .and_then(|exit| exit["exit_code"].as_i64())
            .or(self.exit);
    }

    /// The start, if it was not told yet.
    pub(super) fn start_event(&mut self) -> Option<AgentEvent> {
        (!std::mem::replace(&mut self.told, true)).then(|| AgentEvent::ToolStart {
            id: self.id.clone(),
            name: self.display_name(),
            input: self.input_or_title(),
        })
    }

    /// The tool's name; without one, what kind of tool it is.
    pub(super) fn display_name(&self) -> String {
        if !self.name.is_empty() {
            return self.name.clone();
        }
        let kind = self.kind.and_then(|kind| serde_json::to_value(kind).ok());
        let kind = kind.as_ref().and_then(Value::as_str);
        kind.unwrap_or("tool").to_owned()
    }

    /// What it is given; where the agent does not say, what it calls that.
    pub(super) fn input_or_title(&self) -> Value {
        match is_empty(&self.input) {
            true => json!({ "title": self.title, "paths": self.paths }),
            false => self.input.clone(),
        }
    }

    /// The end, as the agent tells it; an exit code says more than its word.
    pub(super) fn end_event(
        &mut self,
        fields: &ToolCallUpdateFields,
        exit_note: Option<&str>,
    ) -> AgentEvent {
        self.ended = true;
        let output = match &fields.raw_output {
            Some(output) if !output.is_null() => output.clone(),
            _ if !self.output.is_empty() => Value::from(std::mem::take(&mut self.output)),
            _ => content_of(fields),
        };
        let noted = || exit_note.and_then(|note| exit_after(note, &output));
        let exit = self.exit.or_else(|| exit_in(&output)).or_else(noted);
        // Some agents call a command completed that they have just killed; those give no exit code.
        let succeeded = exit.map_or(!self.broken_off, |code| code == 0);
        AgentEvent::ToolEnd {
            id: self.id.clone(),
            name: self.display_name(),
            success: fields.status == Some(ToolCallStatus::Completed) && succeeded,
            output,
            duration_ms: 0,
        }
    }
}

/// A tool's name where the protocol has no place for it.
fn tool_name(meta: Option<&Meta>) -> Option<String> {
    let meta = meta?;
    let nested = meta.values().find_map(|value| value["toolName"].as_str());
    let name = meta.get("toolName").and_then(Value::as_str).or(nested);
    name.map(str::to_owned)
}

fn exit_in(output: &Value) -> Option<i64> {
    let places = [
        &output["exitCode"],
        &output["exit_code"],
        &output["metadata"]["exit"],
        &output["shellExecution"]["exitCode"],
    ];
    places.into_iter().find_map(Value::as_i64)
}

/// The exit code in the last line, which is the agent's own and not the command's.
fn exit_after(note: &str, output: &Value) -> Option<i64> {
    let last = output["content"].as_str()?.lines().next_back()?;
    let (_, code) = last.split_once(note)?;
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
