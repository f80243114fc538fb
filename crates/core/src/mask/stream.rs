//! Masks text that arrives in chunks.

use super::Masker;
use crate::{AgentEvent, BackendEvent};

/// Masks the events of a turn. A secret that is split between two chunks of text is found: the end of a chunk that may
/// be the beginning of a secret is held back until the next chunk, or until another event ends the text.
#[derive(Debug, Default)]
pub(crate) struct MaskedStream {
    masker: Masker,
    held: Option<HeldText>,
}

#[derive(Debug)]
struct HeldText {
    kind: TextKind,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Text,
    Thought,
}

impl HeldText {
    fn into_event(self) -> BackendEvent {
        match self.kind {
            TextKind::Text => AgentEvent::Text(self.text).into(),
            TextKind::Thought => AgentEvent::Thought(self.text).into(),
        }
    }
}

impl MaskedStream {
    pub(crate) fn new(masker: Masker) -> Self {
        Self { masker, held: None }
    }

    /// Returns the events to send now: held text, then the event, masked.
    pub(crate) fn push(&mut self, event: BackendEvent) -> impl Iterator<Item = BackendEvent> {
        let (first, second) = if self.masker.is_empty() {
            (None, Some(event))
        } else {
            self.mask(event)
        };
        first.into_iter().chain(second)
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
        let other = match &self.held {
            Some(held) if held.kind != kind => self.flush(),
            _ => None,
        };
        (other, self.chunk(kind, text, raw))
    }

    /// Masks a chunk together with the held text, and holds back what may be the beginning of a secret.
    fn chunk(&mut self, kind: TextKind, text: String, raw: Option<String>) -> Option<BackendEvent> {
        let joined = match self.held.take() {
            Some(held) => held.text + &text,
            None => text.clone(),
        };
        let open = self.masker.open_tail(&joined);
        let end = self.masker.match_across(&joined, open).unwrap_or(open);
        let masked = self.masker.text(&joined[..end]).into_owned();
        if end < joined.len() {
            let text = joined[end..].to_owned();
            self.held = Some(HeldText { kind, text });
        }
        if masked.is_empty() && !joined.is_empty() {
            return None;
        }
        // The source line of a chunk that was changed contains a part of a secret.
        let raw = raw.filter(|_| masked == text);
        let raw = raw.map(|line| self.masker.text(&line).into_owned());
        let text = HeldText { kind, text: masked };
        Some(BackendEvent {
            raw,
            ..text.into_event()
        })
    }

    /// Returns the held text: no secret follows.
    pub(crate) fn flush(&mut self) -> Option<BackendEvent> {
        let mut held = self.held.take()?;
        self.masker.string(&mut held.text);
        Some(held.into_event())
    }
}
