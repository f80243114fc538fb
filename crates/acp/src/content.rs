//! Builds the parts of session updates: texts, plan entries, tokens. Pure.

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate,
    TextContent, Usage as ProtocolUsage,
};
use serde_json::Value;
use windlass_core::{PlanStatus, Usage};

/// Maximum size of a tool's output that is shown as text; `rawOutput` has all of it.
const MAX_OUTPUT_TEXT: usize = 16 << 10;

/// Returns a chunk of the answer.
pub(crate) fn message(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(chunk(text))
}

/// Returns a chunk of the agent's reasoning.
pub(crate) fn thought(text: &str) -> SessionUpdate {
    SessionUpdate::AgentThoughtChunk(chunk(text))
}

/// Returns a chunk of the user's prompt.
pub(crate) fn user_message(text: &str) -> SessionUpdate {
    SessionUpdate::UserMessageChunk(chunk(text))
}

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
}

/// Returns an entry of a plan.
pub(crate) fn plan_entry(step: &str, status: PlanStatus) -> PlanEntry {
    let status = match status {
        PlanStatus::Completed => PlanEntryStatus::Completed,
        PlanStatus::InProgress => PlanEntryStatus::InProgress,
        _ => PlanEntryStatus::Pending,
    };
    PlanEntry::new(step, PlanEntryPriority::Medium, status)
}

/// Converts the tokens of a turn.
pub(crate) fn usage(usage: &Usage) -> ProtocolUsage {
    let cached = usage.cache_read_tokens.unwrap_or(0) + usage.cache_write_tokens.unwrap_or(0);
    let total = usage.input_tokens + usage.output_tokens + cached;
    ProtocolUsage::new(total, usage.input_tokens, usage.output_tokens)
        .cached_read_tokens(usage.cache_read_tokens)
        .cached_write_tokens(usage.cache_write_tokens)
}

/// Returns a tool's output as text.
pub(crate) fn output_text(output: &Value) -> String {
    let nested = ["output", "content", "error", "stdout"].iter();
    let nested = nested.filter_map(|key| output.get(*key)?.as_str()).next();
    let text = match output {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        _ => nested.map_or_else(|| output.to_string(), str::to_owned),
    };
    if text.len() <= MAX_OUTPUT_TEXT {
        return text;
    }
    let head = &text[..text.floor_char_boundary(MAX_OUTPUT_TEXT)];
    format!("{head}\n… {} more bytes", text.len() - head.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_are_summed() {
        let turn = Usage {
            input_tokens: 1,
            output_tokens: 2,
            cache_read_tokens: Some(4),
            ..Usage::default()
        };
        assert_eq!(usage(&turn).total_tokens, 7);
    }

    #[test]
    fn long_output_is_cut() {
        let text = output_text(&json!("é".repeat(MAX_OUTPUT_TEXT)));
        assert!(
            text.len() < MAX_OUTPUT_TEXT + 40 && text.ends_with("more bytes"),
            "{}",
            text.len()
        );
    }
}
