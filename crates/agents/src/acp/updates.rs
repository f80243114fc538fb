//! What an agent says while it works, as events. Pure: no clock, no I/O.

use agent_client_protocol::v1::schema::{
    ContentChunk, Meta, Plan, PlanEntryStatus, RequestPermissionRequest, SessionUpdate, ToolCall,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use serde_json::{Value, json};
use windlass_core::{AgentEvent, PlanEntry, PlanStatus, Usage};

use super::outcome;
use super::preset::{Quirks, UsageSource};
use super::tool::{ToolState, is_empty, text_of};
use crate::cli::failure;

/// How many tools of one turn are remembered; the oldest is forgotten first.
const MAX_TOOLS: usize = 256;

/// Reads the news of one turn.
#[derive(Debug)]
pub(super) struct UpdateParser {
    shims: &'static Quirks,
    tools: Vec<ToolState>,
    /// The answer since the last tool, and all of it.
    last: String,
    all: String,
    /// What may be an error in the clothes of an answer.
    pub(super) complaint: Option<String>,
    /// What the turn consumed, where it is counted in pieces.
    pub(super) pieces: Option<Usage>,
    /// What the session has cost so far.
    pub(super) cost: Option<f64>,
}

impl UpdateParser {
    pub(super) fn new(shims: &'static Quirks) -> Self {
        Self {
            shims,
            tools: Vec::new(),
            last: String::new(),
            all: String::new(),
            complaint: None,
            pieces: None,
            cost: None,
        }
    }

    /// What one piece of news means.
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
            // Our own words, said again.
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
            SessionUpdate::Plan(plan) => vec![planned(plan)],
            SessionUpdate::UsageUpdate(update) => {
                let cost = update.cost.as_ref().filter(|cost| cost.currency == "USD");
                self.cost = cost.map(|cost| cost.amount).or(self.cost);
                vec![other(&SessionUpdate::UsageUpdate(update))]
            }
            update => vec![other(&update)],
        }
    }

    /// The tool that a question is about, with what the question adds to what is known of it.
    pub(super) fn on_permission_request(
        &mut self,
        request: &RequestPermissionRequest,
    ) -> (Vec<AgentEvent>, &ToolState) {
        let call = &request.tool_call;
        let at = self.find(&call.tool_call_id.0);
        self.tools[at].update(&call.fields, call.meta.as_ref());
        let events = self.tools[at].start_event().into_iter().collect();
        if !Vec::is_empty(&events) {
            self.last.clear();
        }
        (events, &self.tools[at])
    }

    /// The starts that were held back for what the tools are given: it does not come.
    pub(super) fn flush_held_starts(&mut self) -> Vec<AgentEvent> {
        self.tools
            .iter_mut()
            .filter_map(ToolState::start_event)
            .collect()
    }

    /// Whether a start is held back.
    pub(super) fn has_held_start(&self) -> bool {
        self.tools.iter().any(|tool| !tool.told)
    }

    /// Whether a tool is under way.
    pub(super) fn has_open_tool(&self) -> bool {
        self.tools.iter().any(|tool| tool.told && !tool.ended)
    }

    /// The turn was stopped: what a tool that is under way says of its success counts no more.
    pub(super) fn interrupt(&mut self) {
        for tool in self.tools.iter_mut().filter(|tool| !tool.ended) {
            tool.broken_off = true;
        }
    }

    /// The answer: what was said after the last tool, or everything if that was nothing.
    pub(super) fn take_answer(&mut self) -> String {
        let (last, all) = (
            std::mem::take(&mut self.last),
            std::mem::take(&mut self.all),
        );
        if last.trim().is_empty() { all } else { last }
    }

    /// Says what was held for an error and is none.
    pub(super) fn release_held_error(&mut self) -> Option<AgentEvent> {
        let text = self.complaint.take()?;
        self.push_text(&text);
        Some(AgentEvent::Text(text))
    }

    fn text(&mut self, chunk: ContentChunk) -> Vec<AgentEvent> {
        if self.shims.usage == UsageSource::Chunks
            && let Some(usage) = outcome::chunk_usage(chunk.meta.as_ref(), self.shims)
        {
            *self.pieces.get_or_insert_default() += &usage;
        }
        let Some(text) = text_of(&chunk.content) else {
            return vec![other(&SessionUpdate::AgentMessageChunk(chunk))];
        };
        let begins = |with: &[&str]| with.iter().any(|word| text.starts_with(word));
        if text.is_empty() {
            return Vec::new();
        }
        if begins(self.shims.notice_prefixes) {
            return vec![match text.contains("Retrying") {
                true => failure::retry(None, None, None, None, text),
                false => AgentEvent::custom("notice", json!({ "message": text.trim() })),
            }];
        }
        let nameless = self.shims.errors_lack_message_id && chunk.message_id.is_none();
        if begins(self.shims.error_prefixes) || nameless {
            let complaint = self.complaint.get_or_insert_default();
            if complaint.len() < outcome::MAX_ERROR_BYTES {
                complaint.push_str(text);
            }
            return Vec::new();
        }
        let text = text.to_owned();
        self.push_text(&text);
        // What goes on after a complaint was not ended by it.
        let mended = self
            .complaint
            .take_if(|_| !self.shims.errors_lack_message_id);
        let notice = mended.map(|said| AgentEvent::custom("notice", json!({ "message": said })));
        notice.into_iter().chain([AgentEvent::Text(text)]).collect()
    }

    fn push_text(&mut self, text: &str) {
        for kept in [&mut self.last, &mut self.all] {
            // The handle ends a turn that says more than a turn may hold.
            kept.push_str(text);
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
        let over = matches!(
            fields.status,
            Some(ToolCallStatus::Completed | ToolCallStatus::Failed)
        );
        // What a tool is given often comes a moment after the tool.
        let waits = !over
            && is_empty(&tool.input)
            && !matches!(fields.status, Some(ToolCallStatus::InProgress));
        let mut events = Vec::new();
        if tool.ended {
            return vec![AgentEvent::custom(
                "late_tool_update",
                json!({ "id": id, "update": fields }),
            )];
        }
        let was_told = tool.told;
        if !waits {
            events.extend(tool.start_event());
        }
        if over {
            events.push(tool.end_event(&fields, self.shims.exit_code_prefix));
        } else if was_told {
            events.push(AgentEvent::ToolProgress {
                id,
                update: json!(fields),
            });
        }
        if !was_told && !events.is_empty() {
            self.last.clear();
        }
        events
    }
}

/// A new tool as if it were news about one.
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

fn planned(plan: Plan) -> AgentEvent {
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

/// News that only ACP has.
fn other(update: &SessionUpdate) -> AgentEvent {
    let mut payload = serde_json::to_value(update).unwrap_or_default();
    let kind = payload
        .as_object_mut()
        .and_then(|fields| fields.remove("sessionUpdate"));
    let kind = kind.as_ref().and_then(Value::as_str).unwrap_or("unparsed");
    AgentEvent::custom(kind.to_owned(), payload)
}
