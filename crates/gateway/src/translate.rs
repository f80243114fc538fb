//! Translation of a turn's events into a model's response.

use windlass_core::structured::final_text;
use windlass_core::{self as core, AgentEvent};
use windlass_wire::{ModelEvent, StopReason, TokenUsage};

use crate::prompt::strip_role_marker;

/// Translates the events of one turn into those of a response.
///
/// A streamed response has all text of the agent as it is written; a whole response has only the final text,
/// without the text between tool calls. Neither contains the use of the agent's own tools.
#[derive(Debug, Default)]
pub(crate) struct EventTranslator {
    streams: bool,
    reasoning: bool,
    written: String,
    /// `true` if a tool was used since the last text: then the next text is a new paragraph.
    new_paragraph: bool,
}

impl EventTranslator {
    /// Creates a translator for a client that requests a stream or not, and reasoning or not.
    pub(crate) fn new(streams: bool, reasoning: bool) -> Self {
        Self {
            streams,
            reasoning,
            ..Self::default()
        }
    }

    /// Returns the response events for an event. Errors are not translated here.
    pub(crate) fn translate(&mut self, event: &AgentEvent) -> Vec<ModelEvent> {
        match event {
            AgentEvent::Text(text) => self.text(text).into_iter().collect(),
            AgentEvent::Thought(text) if self.reasoning => {
                vec![ModelEvent::ReasoningDelta { text: text.clone() }]
            }
            AgentEvent::ToolStart { .. } => {
                self.new_paragraph = true;
                Vec::new()
            }
            AgentEvent::Result { text, usage, .. } => self.end(text, usage.as_ref()),
            _ => Vec::new(),
        }
    }

    fn text(&mut self, text: &str) -> Option<ModelEvent> {
        let before = self.written.len();
        if std::mem::take(&mut self.new_paragraph) && before > 0 && !self.written.ends_with('\n') {
            self.written.push_str("\n\n");
        }
        self.written.push_str(text);
        let text = &self.written[before..];
        (self.streams && !text.is_empty()).then(|| delta(text))
    }

    fn end(&mut self, result: &str, usage: Option<&core::Usage>) -> Vec<ModelEvent> {
        let mut events = Vec::new();
        if self.streams {
            events.extend(unsent_text(&self.written, result).map(|text| delta(&text)));
        } else {
            let text = final_text(result, &self.written);
            events.push(delta(strip_role_marker(text)));
        }
        events.extend(usage.map(|usage| ModelEvent::Usage(to_wire_usage(usage))));
        events.push(ModelEvent::Stop {
            reason: StopReason::EndTurn,
        });
        events.push(ModelEvent::Done);
        events
    }
}

/// Returns the part of the result that was not yet sent.
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

/// Converts an agent's usage to that of the model APIs, which count cached tokens as input.
pub(crate) fn to_wire_usage(usage: &core::Usage) -> TokenUsage {
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

/// Converts a model API's usage to that of an agent, the inverse of [`to_wire_usage`].
pub(crate) fn to_core_usage(usage: &TokenUsage) -> core::Usage {
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

    fn sent_text(streams: bool, events: &[AgentEvent]) -> String {
        let mut translator = EventTranslator::new(streams, false);
        let sent = events.iter().flat_map(|event| translator.translate(event));
        sent.filter_map(|event| match event {
            ModelEvent::TextDelta { text } => Some(text),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn stream_has_all_text_and_whole_response_only_the_final_text() {
        let text = |text: &str| AgentEvent::Text(text.to_owned());
        let working = [
            text("Let me "),
            text("look."),
            tool(),
            text("It is 4."),
            AgentEvent::result("It is 4."),
        ];
        assert_eq!(sent_text(true, &working), "Let me look.\n\nIt is 4.");
        assert_eq!(sent_text(false, &working), "It is 4.");
        let only_result = [AgentEvent::result("It is 4.")];
        assert_eq!(sent_text(true, &only_result), "It is 4.");
        assert_eq!(sent_text(false, &only_result), "It is 4.");
        let half = [text("It is"), AgentEvent::result("It is 4.")];
        assert_eq!(sent_text(true, &half), "It is 4.");
        let other = [text("Hm."), AgentEvent::result("It is 4.")];
        assert_eq!(sent_text(true, &other), "Hm.\n\nIt is 4.");
        let no_result = [text("It is 4."), AgentEvent::result("")];
        assert_eq!(sent_text(false, &no_result), "It is 4.");
    }

    #[test]
    fn usage_converts_both_ways() {
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
