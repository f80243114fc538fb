//! Enforces the order of events in a turn, for every backend.
//!
//! The output has these properties: tools start before they end and end exactly once, no event is larger
//! than the limit, and exactly one terminal event comes last. Invalid events of a backend are repaired if
//! their meaning is clear, and otherwise emitted as a `Custom` event. No event is dropped.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::truncate;
use crate::{AgentEvent, BackendEvent, Clock};

/// The state of a turn: its open and recently ended tools.
#[derive(Debug)]
pub(super) struct EventSequencer {
    /// Only tools are timed: most events are text, and read no clock.
    clock: Arc<dyn Clock>,
    open: Vec<OpenTool>,
    ended: Vec<String>,
    event_bytes: usize,
}

#[derive(Debug)]
struct OpenTool {
    id: String,
    name: String,
    since: Duration,
}

impl OpenTool {
    /// Returns the `ToolEnd` event for a tool that did not end itself.
    fn unfinished(self, now: Duration, why: &str) -> AgentEvent {
        AgentEvent::ToolEnd {
            id: self.id,
            name: self.name,
            output: json!({ "error": why }),
            success: false,
            duration_ms: millis(now.saturating_sub(self.since)),
        }
    }
}

/// The number of ended tools that are remembered to detect a second end.
const MAX_ENDED_TOOLS: usize = 64;
/// The maximum number of open tools. When it is reached, the oldest tool is ended.
const MAX_OPEN_TOOLS: usize = 256;
/// The maximum length of a tool's id or name. Longer ones are truncated.
const NAME_BYTES: usize = 1024;

impl EventSequencer {
    pub(super) fn new(event_bytes: usize, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            open: Vec::new(),
            ended: Vec::new(),
            event_bytes,
        }
    }

    /// Appends the event to `out` in a valid form, together with any events that must precede it.
    pub(super) fn push(&mut self, backend_event: BackendEvent, out: &mut VecDeque<BackendEvent>) {
        if self.is_valid_text(&backend_event) {
            return out.push_back(backend_event);
        }
        let BackendEvent { event, raw } = backend_event;
        let first = out.len();
        if event.is_terminal() {
            self.close_open_tools("the turn ended before the tool did", out);
        }
        match event {
            AgentEvent::Text(text) => {
                truncate::split_text(text, self.event_bytes, AgentEvent::Text, out)
            }
            AgentEvent::Thought(text) => {
                truncate::split_text(text, self.event_bytes, AgentEvent::Thought, out);
            }
            AgentEvent::ToolStart { id, name, input } => {
                self.start(truncate_name(id), truncate_name(name), input, out);
            }
            AgentEvent::ToolProgress { id, update } => {
                self.progress(truncate_name(id), update, out)
            }
            end @ AgentEvent::ToolEnd { .. } => self.end(end, out),
            other => out.push_back(other.into()),
        }
        for queued in out.range_mut(first..) {
            truncate::truncate_event(&mut queued.event, self.event_bytes);
        }
        // The source line is attached to the last event that was made from it.
        if let Some(last) = out.back_mut().filter(|_| raw.is_some()) {
            last.raw = raw.map(|line| truncate::truncate_text(line, self.event_bytes));
        }
    }

    /// Returns `true` for a piece of text within the limits, as most events are.
    fn is_valid_text(&self, event: &BackendEvent) -> bool {
        let raw_len = event.raw.as_ref().map_or(0, String::len);
        match &event.event {
            AgentEvent::Text(text) | AgentEvent::Thought(text) => {
                text.len().max(raw_len) <= truncate::max_text(self.event_bytes)
            }
            _ => false,
        }
    }

    /// Ends every open tool with the given reason.
    fn close_open_tools(&mut self, why: &str, out: &mut VecDeque<BackendEvent>) {
        let now = self.clock.elapsed();
        for tool in self.open.drain(..) {
            out.push_back(tool.unfinished(now, why).into());
        }
    }

    fn start(&mut self, id: String, name: String, input: Value, out: &mut VecDeque<BackendEvent>) {
        if self.open.iter().any(|tool| tool.id == id) {
            // Some agents announce a tool twice, the second time with its complete input.
            let update = json!({ "name": name, "input": input });
            out.push_back(AgentEvent::ToolProgress { id, update }.into());
            return;
        }
        self.ended.retain(|ended| *ended != id);
        let now = self.clock.elapsed();
        if self.open.len() == MAX_OPEN_TOOLS {
            let oldest = self.open.remove(0);
            let why = "too many tools are open";
            out.push_back(oldest.unfinished(now, why).into());
        }
        self.open.push(OpenTool {
            id: id.clone(),
            name: name.clone(),
            since: now,
        });
        out.push_back(AgentEvent::ToolStart { id, name, input }.into());
    }

    fn progress(&mut self, id: String, update: Value, out: &mut VecDeque<BackendEvent>) {
        let event = if self.open.iter().any(|tool| tool.id == id) {
            AgentEvent::ToolProgress { id, update }
        } else {
            let payload = json!({ "id": id, "update": update });
            AgentEvent::custom("unpaired_tool_progress", payload)
        };
        out.push_back(event.into());
    }

    fn end(&mut self, event: AgentEvent, out: &mut VecDeque<BackendEvent>) {
        let AgentEvent::ToolEnd {
            id,
            name,
            output,
            success,
            duration_ms,
        } = event
        else {
            return;
        };
        let (id, name) = (truncate_name(id), truncate_name(name));
        if self.ended.contains(&id) {
            let payload = json!({ "id": id, "name": name, "output": output, "success": success });
            out.push_back(AgentEvent::custom("repeated_tool_end", payload).into());
            return;
        }
        if !self.open.iter().any(|tool| tool.id == id) {
            // Some agents report only ends: add the start.
            self.start(id.clone(), name.clone(), Value::Null, out);
        }
        let Some(at) = self.open.iter().position(|tool| tool.id == id) else {
            return;
        };
        let tool = self.open.remove(at);
        if self.ended.len() == MAX_ENDED_TOOLS {
            self.ended.remove(0);
        }
        self.ended.push(id.clone());
        let end = AgentEvent::ToolEnd {
            id,
            name: if name.is_empty() { tool.name } else { name },
            output,
            success,
            // Most agents do not report the duration of a tool: measure it.
            duration_ms: match duration_ms {
                0 => millis(self.clock.elapsed().saturating_sub(tool.since)),
                reported => reported,
            },
        };
        out.push_back(end.into());
    }
}

fn truncate_name(text: String) -> String {
    truncate::truncate_text(text, NAME_BYTES)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
