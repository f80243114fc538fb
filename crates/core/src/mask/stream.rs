//! Masks the events of a turn.

use super::{MaskedChunks, Masker};
use crate::{AgentEvent, BackendEvent};

/// Masks the events of a turn. A secret that is split between two chunks of text is found: what is held back is sent
/// before another event, which ends the text.
#[derive(Debug, Default)]
pub(crate) struct MaskedStream {
    masker: Masker,
    chunks: MaskedChunks,
    /// The kind of the text that is held back.
    kind: TextKind,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum TextKind {
    #[default]
    Text,
    Thought,
}

impl TextKind {
    fn event(self, text: String) -> BackendEvent {
        match self {
            Self::Text => AgentEvent::Text(text).into(),
            Self::Thought => AgentEvent::Thought(text).into(),
        }
    }
}

impl MaskedStream {
    pub(crate) fn new(masker: Masker) -> Self {
        Self {
            chunks: MaskedChunks::new(masker.clone()),
            masker,
            kind: TextKind::default(),
        }
    }

    /// Calls `send` with the events to send now: held text, then the event, masked.
    pub(crate) fn push(&mut self, event: BackendEvent, mut send: impl FnMut(BackendEvent)) {
        if self.masker.is_empty() {
            return send(event);
        }
        let (first, second) = self.mask(event);
        first.into_iter().chain(second).for_each(send);
    }

    fn mask(
        &mut self,
        backend_event: BackendEvent,
    ) -> (Option<BackendEvent>, Option<BackendEvent>) {
        let BackendEvent { event, raw } = backend_event;
        let (kind, text) = match event {
            AgentEvent::Text(text) => (TextKind::Text, text),
            AgentEvent::Thought(text) => (TextKind::Thought, text),
            mut event => {
                self.masker.event(&mut event);
                let raw = raw.map(|line| self.masker.text(&line).into_owned());
                return (self.flush(), Some(BackendEvent { event, raw }));
            }
        };
        let other = if kind == self.kind {
            None
        } else {
            self.flush()
        };
        self.kind = kind;
        (other, self.chunk(text, raw))
    }

    fn chunk(&mut self, text: String, raw: Option<String>) -> Option<BackendEvent> {
        let is_empty = self.chunks.is_empty() && text.is_empty();
        let masked = self.chunks.push(&text);
        if masked.is_empty() && !is_empty {
            return None;
        }
        // The source line of a chunk that was changed contains a part of a secret.
        let raw = raw.filter(|_| masked == text);
        let raw = raw.map(|line| self.masker.text(&line).into_owned());
        Some(BackendEvent {
            raw,
            ..self.kind.event(masked)
        })
    }

    /// Returns the held text: no secret follows.
    pub(crate) fn flush(&mut self) -> Option<BackendEvent> {
        if self.chunks.is_empty() {
            return None;
        }
        let text = self.chunks.finish();
        Some(self.kind.event(text))
    }
}
