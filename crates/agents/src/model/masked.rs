//! Masks known secrets in the events of a model's response, as the handle does in the events of a turn.

use std::collections::BTreeMap;

use windlass_core::Masker;
use windlass_core::mask::MaskedChunks;
use windlass_wire::ModelEvent;

/// The texts of one response that arrive in chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TextKey {
    Reasoning,
    Text,
    Call(usize),
}

impl TextKey {
    fn event(self, text: String) -> ModelEvent {
        match self {
            Self::Reasoning => ModelEvent::ReasoningDelta { text },
            Self::Text => ModelEvent::TextDelta { text },
            Self::Call(index) => ModelEvent::ToolCallDelta { index, input: text },
        }
    }
}

/// Masks the events of one response.
pub(super) struct MaskedEvents {
    masker: Masker,
    open: BTreeMap<TextKey, MaskedChunks>,
}

impl MaskedEvents {
    pub(super) fn new(masker: Masker) -> Self {
        let open = BTreeMap::new();
        Self { masker, open }
    }

    /// Returns the events to send now: held text that this event ends, then the event, masked.
    pub(super) fn push(&mut self, event: ModelEvent) -> Vec<ModelEvent> {
        match event {
            ModelEvent::TextDelta { text } => self.chunk(TextKey::Text, &text),
            ModelEvent::ReasoningDelta { text } => self.chunk(TextKey::Reasoning, &text),
            ModelEvent::ToolCallDelta { index, input } => self.chunk(TextKey::Call(index), &input),
            // It may arrive between two chunks.
            ModelEvent::Usage(_) => vec![event],
            ModelEvent::ToolCallEnd { index } => self.end_with(
                event,
                |key| !matches!(key, TextKey::Call(other) if other != index),
            ),
            ModelEvent::Stop { .. } | ModelEvent::Done => self.end_with(event, |_| true),
            ModelEvent::Error(mut error) => {
                self.masker.string(&mut error.message);
                self.end_with(ModelEvent::Error(error), |_| true)
            }
            ModelEvent::Opaque(mut opaque) => {
                self.masker.value(&mut opaque.value);
                self.end_with(ModelEvent::Opaque(opaque), is_prose)
            }
            event => self.end_with(event, is_prose),
        }
    }

    fn chunk(&mut self, key: TextKey, text: &str) -> Vec<ModelEvent> {
        // The chunks of several calls may be interleaved; text and reasoning end each other.
        let mut events = self.end(|other| other != key && is_prose(other));
        let masker = &self.masker;
        let open = self.open.entry(key);
        let chunks = open.or_insert_with(|| MaskedChunks::new(masker.clone()));
        let ready = chunks.push(text);
        if !ready.is_empty() {
            events.push(key.event(ready));
        }
        events
    }

    fn end_with(&mut self, event: ModelEvent, ends: impl Fn(TextKey) -> bool) -> Vec<ModelEvent> {
        let mut events = self.end(ends);
        events.push(event);
        events
    }

    /// Returns the held text of the texts that have ended.
    fn end(&mut self, ends: impl Fn(TextKey) -> bool) -> Vec<ModelEvent> {
        let ended = self.open.extract_if(.., |key, _| ends(*key));
        let held = ended.filter(|(_, chunks)| !chunks.is_empty());
        held.map(|(key, mut chunks)| key.event(chunks.finish()))
            .collect()
    }
}

fn is_prose(key: TextKey) -> bool {
    matches!(key, TextKey::Reasoning | TextKey::Text)
}

#[cfg(test)]
mod tests {
    use windlass_core::SecretString;
    use windlass_wire::{ErrorKind, ModelError, StopReason, TokenUsage};

    use super::*;

    const SECRET: &str = "canary-0123456789";

    fn masked(events: Vec<ModelEvent>) -> Vec<ModelEvent> {
        let secret = ("KEY".to_owned(), SecretString::from(SECRET));
        let mut masked = MaskedEvents::new(Masker::new([secret]));
        events
            .into_iter()
            .flat_map(|event| masked.push(event))
            .collect()
    }

    fn text(text: &str) -> ModelEvent {
        TextKey::Text.event(text.to_owned())
    }

    fn call(index: usize, input: &str) -> ModelEvent {
        TextKey::Call(index).event(input.to_owned())
    }

    #[test]
    fn p19_secret_is_masked_between_chunks_of_text() {
        let usage = ModelEvent::Usage(TokenUsage::default());
        let sent = masked(vec![
            text("the key is cana"),
            usage.clone(),
            text("ry-0123456789."),
            ModelEvent::Done,
        ]);
        let expected = [
            text("the key is "),
            usage,
            text("[masked:KEY]."),
            ModelEvent::Done,
        ];
        assert_eq!(sent, expected);
    }

    #[test]
    fn p19_secret_is_masked_in_interleaved_calls() {
        let sent = masked(vec![
            call(0, "{\"a\":\"canary-01"),
            call(1, "{\"b\":\"canary-0123"),
            call(0, "23456789\"}"),
            call(1, "456789\"}"),
            ModelEvent::ToolCallEnd { index: 0 },
            ModelEvent::ToolCallEnd { index: 1 },
            ModelEvent::Done,
        ]);
        let input = |wanted: usize| -> String {
            let inputs = sent.iter().map(|event| match event {
                ModelEvent::ToolCallDelta { index, input } if *index == wanted => input.as_str(),
                _ => "",
            });
            inputs.collect()
        };
        assert_eq!(input(0), "{\"a\":\"[masked:KEY]\"}");
        assert_eq!(input(1), "{\"b\":\"[masked:KEY]\"}");
    }

    #[test]
    fn p19_secret_is_masked_in_errors() {
        let message = format!("the key {SECRET} is not valid");
        let error = ModelError::new(ErrorKind::Authentication, message);
        let sent = masked(vec![ModelEvent::Error(error)]);
        let is_masked = |event: &ModelEvent| matches!(event, ModelEvent::Error(error) if error.message == "the key [masked:KEY] is not valid");
        assert!(sent.iter().all(is_masked), "{sent:?}");
    }

    #[test]
    fn held_text_is_sent_before_what_ends_it() {
        let reason = StopReason::EndTurn;
        let sent = masked(vec![text("a can"), ModelEvent::Stop { reason }]);
        assert_eq!(sent, [text("a "), text("can"), ModelEvent::Stop { reason }]);
        let thought = TextKey::Reasoning.event("can".to_owned());
        let sent = masked(vec![thought.clone(), text("of tea")]);
        assert_eq!(sent, [thought, text("of tea")]);
    }
}
