//! What a node says, kept back until it has really begun.
//!
//! A node that fails before it has said or done anything can be passed over for the next, and then nothing of it must
//! have been shown. So its events wait: for the first words of its answer or its first tool, which is when it has
//! begun. From then on it is heard as it speaks, and if it fails its failure is the turn's: half an answer of one
//! followed by a whole one of another would be a lie. Thoughts wait too; but one who has thought at such length that
//! it will not fit has begun.

use windlass_core::{AgentEvent, BackendEvent};
use windlass_wire::ModelEvent;

/// How much may wait.
const MAX_HELD_BYTES: usize = 64 << 10;
const MAX_HELD_EVENTS: usize = 1024;

/// Events of an agent or of a model.
pub(super) trait HeldEvent {
    /// Whether whoever sends this has begun.
    fn starts_output(&self) -> bool;
    /// About how much it holds.
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

/// The events that wait.
#[derive(Debug)]
pub(super) struct HoldBuffer<E> {
    held: Vec<E>,
    bytes: usize,
    begun: bool,
}

impl<E: HeldEvent> HoldBuffer<E> {
    /// Nothing is kept back where nobody could take over.
    pub(super) fn new(replaceable: bool) -> Self {
        Self {
            held: Vec::new(),
            bytes: 0,
            begun: !replaceable,
        }
    }

    /// Takes an event in, and gives those that may be shown now.
    pub(super) fn push(&mut self, event: E) -> Vec<E> {
        self.bytes += event.approx_size();
        self.begun |= event.starts_output()
            || self.bytes > MAX_HELD_BYTES
            || self.held.len() >= MAX_HELD_EVENTS;
        self.held.push(event);
        match self.begun {
            true => std::mem::take(&mut self.held),
            false => Vec::new(),
        }
    }

    /// Whether the node has begun.
    pub(super) fn has_started(&self) -> bool {
        self.begun
    }

    /// All that waits: the turn ends with this node.
    pub(super) fn drain(&mut self) -> Vec<E> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &str) -> BackendEvent {
        AgentEvent::Text(words.to_owned()).into()
    }

    #[test]
    fn words_begin_and_white_space_does_not() {
        let mut hold = HoldBuffer::new(true);
        assert_eq!(hold.push(text(" \n")), []);
        assert_eq!(hold.push(AgentEvent::Thought("hm".to_owned()).into()), []);
        assert!(!hold.has_started());
        assert_eq!(hold.push(text("Hello")).len(), 3);
        assert_eq!(hold.push(text(" ")).len(), 1);
    }

    #[test]
    fn p12_what_waits_is_bounded() {
        let mut hold = HoldBuffer::new(true);
        let thought = || BackendEvent::from(AgentEvent::Thought("x".repeat(MAX_HELD_BYTES / 4)));
        let shown: Vec<usize> = (0..6).map(|_| hold.push(thought()).len()).collect();
        assert_eq!(shown, [0, 0, 0, 0, 5, 1]);
    }

    #[test]
    fn the_last_who_can_is_heard_at_once() {
        let mut hold = HoldBuffer::new(false);
        assert_eq!(hold.push(text(" ")).len(), 1);
    }
}
