//! Converts an agent's session updates to events. Pure: no clock, no I/O.

use agent_client_protocol::v1::schema::{
    ContentChunk, Meta, Plan, PlanEntryStatus, RequestPermissionRequest, SessionUpdate, ToolCall,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use serde_json::{Value, json};
use windlass_core::{AgentEvent, PlanEntry, PlanStatus, Usage};

use super::outcome;
use super::preset::Quirks;
use super::tool::{ToolState, is_empty, text_of};
use crate::program::failure;

/// Maximum number of tools tracked in one turn; the oldest is dropped first.
const MAX_TOOLS: usize = 256;

/// Parses the updates of one turn.
#[derive(Debug)]
pub(super) struct UpdateParser {
    quirks: &'static Quirks,
    tools: Vec<ToolState>,
    /// The answer since the last tool, and the whole answer.
    last_part: String,
    whole: String,
    /// Whether a tool was started since the last text, so that the next text is a new paragraph.
    new_paragraph: bool,
    /// Text that may be an error formatted as an answer.
    pub(super) error_text: Option<String>,
    /// The usage of the turn, if it is reported in chunks.
    pub(super) chunk_usage: Option<Usage>,
    /// The cost of the session so far.
    pub(super) cost: Option<f64>,
    /// How full the model's context is.
    pub(super) context: Option<outcome::ContextSize>,
}

impl UpdateParser {
    pub(super) fn new(quirks: &'static Quirks) -> Self {
        Self {
            quirks,
            tools: Vec::new(),
            last_part: String::new(),
            whole: String::new(),
            new_paragraph: false,
            error_text: None,
            chunk_usage: None,
            cost: None,
            context: None,
        }
    }

    /// Converts one update to events.
    pub(super) fn parse(&mut self, update: SessionUpdate) -> Vec<AgentEvent> {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => self.text(chunk),
            SessionUpdate::AgentThoughtChunk(chunk) => {
                let text = text_of(&chunk.content);
                text.filter(|text| !text.is_empty())
                    .map(|text| AgentEvent::Thought(text.to_owned()))
                    .into_iter()
                    .collect()
            }
            // An echo of the prompt.
            SessionUpdate::UserMessageChunk(_) => Vec::new(),
            SessionUpdate::ToolCall(call) => {
                let (id, meta) = (call.tool_call_id.0.to_string(), call.meta.clone());
                self.tool(id, fields(call), meta.as_ref())
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let ToolCallUpdate {
                    tool_call_id,
                    fields,
                    meta,
                    ..
                } = update;
                self.tool(tool_call_id.0.to_string(), fields, meta.as_ref())
            }
            SessionUpdate::Plan(plan) => vec![plan_event(plan)],
            SessionUpdate::UsageUpdate(update) => {
                let cost = update.cost.as_ref().filter(|cost| cost.currency == "USD");
                self.cost = cost.map(|cost| cost.amount).or(self.cost);
                self.context = Some(outcome::ContextSize {
                    used: update.used,
                    size: update.size,
                });
                vec![other(&SessionUpdate::UsageUpdate(update))]
            }
            SessionUpdate::Notice(notice) => {
                let message = match &notice.description {
                    Some(description) => format!("{}: {description}", notice.title),
                    None => notice.title.clone(),
                };
                let payload = json!({ "message": message, "severity": notice.severity });
                vec![AgentEvent::custom("notice", payload)]
            }
            update => vec![other(&update)],
        }
    }

    /// Returns the tool of a permission request, updated with the fields of the request.
    pub(super) fn on_permission_request(
        &mut self,
        request: &RequestPermissionRequest,
    ) -> (Vec<AgentEvent>, &ToolState) {
        let call = &request.tool_call;
        let at = self.find(&call.tool_call_id.0);
        self.tools[at].update(&call.fields, call.meta.as_ref());
        let start = self.tools[at].start_event();
        if start.is_some() {
            self.start_paragraph();
        }
        (start.into_iter().collect(), &self.tools[at])
    }

    /// Returns the start events that were held back for the tools' inputs.
    pub(super) fn flush_held_starts(&mut self) -> Vec<AgentEvent> {
        let tools = self.tools.iter_mut();
        let starts: Vec<AgentEvent> = tools.filter_map(ToolState::start_event).collect();
        if !starts.is_empty() {
            self.start_paragraph();
        }
        starts
    }

    /// Returns the end events of tools that the agent did not end in a turn that it completed.
    pub(super) fn end_open_tools(&mut self) -> Vec<AgentEvent> {
        let mut events = self.flush_held_starts();
        let open = self.tools.iter_mut().filter(|tool| !tool.ended);
        events.extend(open.map(ToolState::assumed_end_event));
        events
    }

    /// Records that a tool was not allowed to run.
    pub(super) fn deny(&mut self, id: &str) {
        for tool in self.tools.iter_mut().filter(|tool| tool.id == id) {
            tool.denied = true;
        }
    }

    /// Returns `true` if the agent used a tool in this turn.
    pub(super) fn used_tool(&self) -> bool {
        !self.tools.is_empty()
    }

    /// Returns `true` if a start event is held back.
    pub(super) fn has_held_start(&self) -> bool {
        self.tools.iter().any(|tool| !tool.started)
    }

    /// Returns `true` if a tool is running.
    pub(super) fn has_open_tool(&self) -> bool {
        self.tools.iter().any(|tool| tool.started && !tool.ended)
    }

    /// Marks the running tools as interrupted: their reported success is ignored.
    pub(super) fn interrupt(&mut self) {
        for tool in self.tools.iter_mut().filter(|tool| !tool.ended) {
            tool.interrupted = true;
        }
    }

    /// Returns the answer: the text after the last tool, or the whole text if that is empty.
    pub(super) fn take_answer(&mut self) -> String {
        let (last_part, whole) = (
            std::mem::take(&mut self.last_part),
            std::mem::take(&mut self.whole),
        );
        if last_part.trim().is_empty() {
            whole
        } else {
            last_part
        }
    }

    /// Returns text that was held back as a possible error but is not one.
    pub(super) fn release_held_error(&mut self) -> Option<AgentEvent> {
        let text = self.error_text.take()?;
        self.push_text(&text);
        Some(AgentEvent::Text(text))
    }

    fn text(&mut self, chunk: ContentChunk) -> Vec<AgentEvent> {
        if let Some(usage) = outcome::chunk_usage(chunk.meta.as_ref(), self.quirks) {
            *self.chunk_usage.get_or_insert_default() += &usage;
        }
        let Some(text) = text_of(&chunk.content) else {
            return vec![other(&SessionUpdate::AgentMessageChunk(chunk))];
        };
        let starts_with =
            |prefixes: &[&str]| prefixes.iter().any(|prefix| text.starts_with(prefix));
        if text.is_empty() {
            return Vec::new();
        }
        if starts_with(self.quirks.notice_prefixes) {
            return vec![if text.contains("Retrying") {
                failure::retry(None, None, None, None, text)
            } else {
                AgentEvent::custom("notice", json!({ "message": text.trim() }))
            }];
        }
        let lacks_id = self.quirks.errors_lack_message_id && chunk.message_id.is_none();
        if starts_with(self.quirks.error_prefixes) || lacks_id {
            let error_text = self.error_text.get_or_insert_default();
            if error_text.len() < outcome::MAX_ERROR_BYTES {
                error_text.push_str(text);
            }
            return Vec::new();
        }
        let text = text.to_owned();
        // A tool comes before the text that follows it.
        let mut events = self.flush_held_starts();
        self.push_text(&text);
        // Text after an error message means that the error did not end the turn.
        let recovered = self
            .error_text
            .take_if(|_| !self.quirks.errors_lack_message_id);
        let notice = recovered.map(|text| AgentEvent::custom("notice", json!({ "message": text })));
        events.extend(notice.into_iter().chain([AgentEvent::Text(text)]));
        events
    }

    /// Separates the text after a tool from the text before it.
    fn start_paragraph(&mut self) {
        self.last_part.clear();
        self.new_paragraph = true;
    }

    fn push_text(&mut self, text: &str) {
        let follows_text = !self.whole.is_empty() && !self.whole.ends_with('\n');
        if std::mem::take(&mut self.new_paragraph) && follows_text {
            self.whole.push_str("\n\n");
        }
        for buffer in [&mut self.last_part, &mut self.whole] {
            // The handle ends a turn that exceeds its output limit.
            buffer.push_str(text);
        }
    }

    fn find(&mut self, id: &str) -> usize {
        if let Some(at) = self.tools.iter().position(|tool| tool.id == id) {
            return at;
        }
        if self.tools.len() == MAX_TOOLS {
            self.tools.remove(0);
        }
        self.tools.push(ToolState::new(id));
        self.tools.len() - 1
    }

    fn tool(
        &mut self,
        id: String,
        fields: ToolCallUpdateFields,
        meta: Option<&Meta>,
    ) -> Vec<AgentEvent> {
        let at = self.find(&id);
        let tool = &mut self.tools[at];
        tool.update(&fields, meta);
        let finished = matches!(
            fields.status,
            Some(ToolCallStatus::Completed | ToolCallStatus::Failed)
        );
        // A tool's input or its paths often arrive shortly after the tool.
        let is_running = matches!(fields.status, Some(ToolCallStatus::InProgress));
        let has_paths = is_running && !tool.paths.is_empty();
        let is_held = !finished && is_empty(&tool.input) && !has_paths;
        let mut events = Vec::new();
        if tool.ended {
            return vec![AgentEvent::custom(
                "late_tool_update",
                json!({ "id": id, "update": fields }),
            )];
        }
        let was_started = tool.started;
        if !is_held {
            events.extend(tool.start_event());
        }
        if finished {
            events.push(tool.end_event(&fields, self.quirks.exit_code_prefix));
        } else if was_started {
            events.push(AgentEvent::ToolProgress {
                id,
                update: json!(fields),
            });
        }
        if !was_started && !events.is_empty() {
            self.start_paragraph();
        }
        events
    }
}

/// Converts a new tool call to an update.
fn fields(call: ToolCall) -> ToolCallUpdateFields {
    ToolCallUpdateFields::new()
        .kind(call.kind)
        .status(call.status)
        .title(call.title)
        .name(call.name)
        .content(call.content)
        .locations(call.locations)
        .raw_input(call.raw_input)
        .raw_output(call.raw_output)
}

fn plan_event(plan: Plan) -> AgentEvent {
    let entry = |entry: agent_client_protocol::v1::schema::PlanEntry| PlanEntry {
        step: entry.content,
        status: match entry.status {
            PlanEntryStatus::Completed => PlanStatus::Completed,
            PlanEntryStatus::InProgress => PlanStatus::InProgress,
            _ => PlanStatus::Pending,
        },
    };
    AgentEvent::Plan {
        entries: plan.entries.into_iter().map(entry).collect(),
    }
}

/// Converts an update that only ACP has.
fn other(update: &SessionUpdate) -> AgentEvent {
    let mut payload = serde_json::to_value(update).unwrap_or_default();
    let kind = payload
        .as_object_mut()
        .and_then(|fields| fields.remove("sessionUpdate"));
    let kind = kind.as_ref().and_then(Value::as_str).unwrap_or("unparsed");
    AgentEvent::custom(kind.to_owned(), payload)
}
