//! Holds back the events of a node until its output starts.
//!
//! If a node fails before it has emitted text or called a tool, the composite falls back to the next node, and no event
//! of the failed node may have been sent. So its events are held until its first non-blank text or its first tool call:
//! this is where its output starts. From then on its events are sent immediately, and if it fails, its failure is the
//! failure of the turn: part of one answer followed by a whole other answer would mislead the client. Reasoning is held
//! too, but if it exceeds the buffer, the output counts as started.

use windlass_core::{AgentEvent, BackendEvent};
use windlass_wire::ModelEvent;

/// The most bytes that are held.
const MAX_HELD_BYTES: usize = 64 << 10;
/// The most events that are held.
const MAX_HELD_EVENTS: usize = 1024;

/// An event of an agent or of a model.
pub(super) trait HeldEvent {
    /// Returns `true` if the node's output starts with this event.
    fn starts_output(&self) -> bool;
    /// Returns the approximate size in bytes.
    fn approx_size(&self) -> usize;
}

impl HeldEvent for BackendEvent {
    fn starts_output(&self) -> bool {
        match &self.event {
            AgentEvent::Text(text) => !text.trim().is_empty(),
            AgentEvent::ToolStart { .. }
            | AgentEvent::ToolEnd { .. }
            | AgentEvent::Plan { .. }
            | AgentEvent::PermissionRequest { .. } => true,
            _ => false,
        }
    }

    fn approx_size(&self) -> usize {
        let raw = self.raw.as_ref().map_or(0, String::len);
        raw + match &self.event {
            AgentEvent::Text(text) | AgentEvent::Thought(text) => text.len(),
            AgentEvent::Custom { payload, .. } => payload.to_string().len(),
            _ => 64,
        }
    }
}

impl HeldEvent for ModelEvent {
    fn starts_output(&self) -> bool {
        match self {
            Self::TextDelta { text } => !text.trim().is_empty(),
            Self::ToolCallStart { .. } | Self::Opaque(_) => true,
            _ => false,
        }
    }

    fn approx_size(&self) -> usize {
        match self {
            Self::TextDelta { text } | Self::ReasoningDelta { text } => text.len(),
            _ => 64,
        }
    }
}

/// A buffer of events that are not sent yet.
#[derive(Debug)]
pub(super) struct HoldBuffer<E> {
    held: Vec<E>,
    bytes: usize,
    started: bool,
}

impl<E: HeldEvent> HoldBuffer<E> {
    /// Creates a buffer. If no other node can replace this one, it holds nothing back.
    pub(super) fn new(replaceable: bool) -> Self {
        Self {
            held: Vec::new(),
            bytes: 0,
            started: !replaceable,
        }
    }

    /// Adds an event and returns the events that may be sent now.
    pub(super) fn push(&mut self, event: E) -> Vec<E> {
        self.bytes += event.approx_size();
        self.started |= event.starts_output()
            || self.bytes > MAX_HELD_BYTES
            || self.held.len() >= MAX_HELD_EVENTS;
        self.held.push(event);
        if self.started {
            std::mem::take(&mut self.held)
        } else {
            Vec::new()
        }
    }

    /// Returns `true` if the node's output has started.
    pub(super) fn has_started(&self) -> bool {
        self.started
    }

    /// Returns all held events, for a turn that ends with this node.
    pub(super) fn drain(&mut self) -> Vec<E> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> BackendEvent {
        AgentEvent::Text(text.to_owned()).into()
    }

    #[test]
    fn text_starts_output_and_white_space_does_not() {
        let mut hold = HoldBuffer::new(true);
        assert_eq!(hold.push(text(" \n")), []);
        assert_eq!(hold.push(AgentEvent::Thought("hm".to_owned()).into()), []);
        assert!(!hold.has_started());
        assert_eq!(hold.push(text("Hello")).len(), 3);
        assert_eq!(hold.push(text(" ")).len(), 1);
    }

    #[test]
    fn p12_held_events_are_bounded() {
        let mut hold = HoldBuffer::new(true);
        let thought = || BackendEvent::from(AgentEvent::Thought("x".repeat(MAX_HELD_BYTES / 4)));
        let shown: Vec<usize> = (0..6).map(|_| hold.push(thought()).len()).collect();
        assert_eq!(shown, [0, 0, 0, 0, 5, 1]);
    }

    #[test]
    fn last_node_streams_immediately() {
        let mut hold = HoldBuffer::new(false);
        assert_eq!(hold.push(text(" ")).len(), 1);
    }
}
