//! A turn's events as a model's answer.

use windlass_core::structured::final_text;
use windlass_core::{self as core, AgentEvent};
use windlass_wire::{ModelEvent, StopReason, TokenUsage};

use super::prompt::strip_role_marker;

/// Turns the events of one turn into those of an answer.
///
/// A streamed answer has what the agent wrote, as it wrote it; a whole one has what it says in the end, without what it
/// said while it worked. What it did with its own tools is in neither.
#[derive(Debug, Default)]
pub(super) struct EventTranslator {
    streams: bool,
    thinks: bool,
    written: String,
    /// Whether something else happened since the last words: then they are another paragraph.
    apart: bool,
}

impl EventTranslator {
    /// For a caller who wants a stream or not, thoughts or not.
    pub(super) fn new(streams: bool, thinks: bool) -> Self {
        Self {
            streams,
            thinks,
            ..Self::default()
        }
    }

    /// What an event means for the caller. Failures are not for this one to tell.
    pub(super) fn translate(&mut self, event: &AgentEvent) -> Vec<ModelEvent> {
        match event {
            AgentEvent::Text(text) => self.text(text).into_iter().collect(),
            AgentEvent::Thought(text) if self.thinks => {
                vec![ModelEvent::ReasoningDelta { text: text.clone() }]
            }
            AgentEvent::ToolStart { .. } => {
                self.apart = true;
                Vec::new()
            }
            AgentEvent::Result { text, usage, .. } => self.end(text, usage.as_ref()),
            _ => Vec::new(),
        }
    }

    fn text(&mut self, text: &str) -> Option<ModelEvent> {
        let before = self.written.len();
        if std::mem::take(&mut self.apart) && before > 0 && !self.written.ends_with('\n') {
            self.written.push_str("\n\n");
        }
        self.written.push_str(text);
        let said = &self.written[before..];
        (self.streams && !said.is_empty()).then(|| delta(said))
    }

    fn end(&mut self, result: &str, usage: Option<&core::Usage>) -> Vec<ModelEvent> {
        let mut events = Vec::new();
        if self.streams {
            events.extend(unsent_text(&self.written, result).map(|text| delta(&text)));
        } else {
            let whole = final_text(result, &self.written);
            events.push(delta(strip_role_marker(whole)));
        }
        events.extend(usage.map(|usage| ModelEvent::Usage(to_wire_usage(usage))));
        events.push(ModelEvent::Stop {
            reason: StopReason::EndTurn,
        });
        events.push(ModelEvent::Done);
        events
    }
}

/// What of the result was not written yet.
fn unsent_text(written: &str, result: &str) -> Option<String> {
    let (before, result) = (written.trim_end(), result.trim_end());
    if before.ends_with(result) || final_text(result, written) != result {
        return None;
    }
    if let Some(rest) = result.strip_prefix(written) {
        return Some(rest.to_owned());
    }
    let gap = if written.is_empty() { "" } else { "\n\n" };
    Some(format!("{gap}{result}"))
}

fn delta(text: &str) -> ModelEvent {
    ModelEvent::TextDelta {
        text: text.to_owned(),
    }
}

/// An agent's count as the model APIs count: there the input includes what the cache held.
pub(super) fn to_wire_usage(usage: &core::Usage) -> TokenUsage {
    let read = usage.cache_read_tokens.unwrap_or_default();
    let write = usage.cache_write_tokens.unwrap_or_default();
    TokenUsage {
        input_tokens: usage
            .input_tokens
            .saturating_add(read)
            .saturating_add(write),
        output_tokens: usage.output_tokens,
        cache_read_tokens: read,
        cache_write_tokens: write,
        reasoning_tokens: 0,
    }
}

/// The same the other way.
pub(super) fn to_core_usage(usage: &TokenUsage) -> core::Usage {
    let cached = usage
        .cache_read_tokens
        .saturating_add(usage.cache_write_tokens);
    let some = |count: u64| (count > 0).then_some(count);
    core::Usage {
        input_tokens: usage.input_tokens.saturating_sub(cached),
        output_tokens: usage.output_tokens,
        cache_read_tokens: some(usage.cache_read_tokens),
        cache_write_tokens: some(usage.cache_write_tokens),
        ..core::Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn tool() -> AgentEvent {
        AgentEvent::ToolStart {
            id: "1".to_owned(),
            name: "shell".to_owned(),
            input: Value::Null,
        }
    }

    fn said(streams: bool, events: &[AgentEvent]) -> String {
        let mut speaker = EventTranslator::new(streams, false);
        let heard = events.iter().flat_map(|event| speaker.translate(event));
        heard
            .filter_map(|event| match event {
                ModelEvent::TextDelta { text } => Some(text),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_stream_has_all_that_was_written_and_a_whole_answer_what_was_said_last() {
        let text = |text: &str| AgentEvent::Text(text.to_owned());
        let working = [
            text("Let me "),
            text("look."),
            tool(),
            text("It is 4."),
            AgentEvent::result("It is 4."),
        ];
        assert_eq!(said(true, &working), "Let me look.\n\nIt is 4.");
        assert_eq!(said(false, &working), "It is 4.");
        let silent = [AgentEvent::result("It is 4.")];
        assert_eq!(said(true, &silent), "It is 4.");
        assert_eq!(said(false, &silent), "It is 4.");
        let half = [text("It is"), AgentEvent::result("It is 4.")];
        assert_eq!(said(true, &half), "It is 4.");
        let other = [text("Hm."), AgentEvent::result("It is 4.")];
        assert_eq!(said(true, &other), "Hm.\n\nIt is 4.");
        let mute = [text("It is 4."), AgentEvent::result("")];
        assert_eq!(said(false, &mute), "It is 4.");
    }

    #[test]
    fn tokens_are_counted_both_ways() {
        let usage = core::Usage {
            input_tokens: 5,
            output_tokens: 2,
            cache_read_tokens: Some(3),
            ..core::Usage::default()
        };
        assert_eq!(to_wire_usage(&usage).input_tokens, 8);
        assert_eq!(to_core_usage(&to_wire_usage(&usage)), usage);
    }
}
