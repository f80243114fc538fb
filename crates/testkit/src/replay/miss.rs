//! Error for a prompt that is not in the cassette.

use std::collections::HashMap;

use windlass_cassette::strip_placeholder_numbers;
use windlass_core::{AgentEvent, ErrorCode};

use super::diff::diff;

/// The error for a prompt without a recorded turn.
#[derive(Debug)]
pub(super) struct PromptMiss {
    message: String,
}

impl PromptMiss {
    /// Creates the error. `recorded` has the recorded prompts and whether each was already played.
    pub(super) fn new<'a>(prompt: &str, recorded: impl Iterator<Item = (&'a str, bool)>) -> Self {
        let recorded: Vec<_> = recorded.collect();
        let key = strip_placeholder_numbers(prompt);
        let times = recorded
            .iter()
            .filter(|(other, _)| strip_placeholder_numbers(other) == key)
            .count();
        let left = recorded
            .iter()
            .filter(|(_, played)| !played)
            .map(|(prompt, _)| *prompt);
        let all = recorded.iter().map(|(prompt, _)| *prompt);
        let message = if times > 0 {
            format!(
                "the cassette contains this prompt {times} time(s), all of them already played: record it once more"
            )
        } else if let Some(nearest) = nearest(prompt, left).or_else(|| nearest(prompt, all)) {
            let diff = diff(nearest, prompt);
            format!(
                "the cassette does not contain this prompt: record it again. Diff from the closest (-) to this one (+):\n{diff}"
            )
        } else {
            "the cassette contains no turns: record one".to_owned()
        };
        Self { message }
    }
}

impl From<PromptMiss> for AgentEvent {
    fn from(miss: PromptMiss) -> Self {
        AgentEvent::Error {
            code: ErrorCode::BackendError,
            message: miss.message,
            // The same prompt would be missing again.
            recoverable: false,
        }
    }
}

/// Returns the text with the most words in common; the first one in case of a tie.
fn nearest<'a>(text: &str, others: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let words = count_words(text);
    let mut best = None;
    for other in others {
        let other_words = count_words(other);
        let total = |words: &HashMap<&str, usize>| words.values().sum::<usize>();
        let shared = other_words
            .iter()
            .map(|(word, times)| words.get(word).copied().unwrap_or(0).min(*times));
        // Dice's coefficient, in thousandths.
        let similarity =
            2000 * shared.sum::<usize>() / (total(&words) + total(&other_words)).max(1);
        if best.is_none_or(|(most, _)| similarity > most) {
            best = Some((similarity, other));
        }
    }
    best.map(|(_, other)| other)
}

fn count_words(text: &str) -> HashMap<&str, usize> {
    let mut words = HashMap::new();
    for word in text.split_whitespace() {
        *words.entry(word).or_insert(0) += 1;
    }
    words
}
