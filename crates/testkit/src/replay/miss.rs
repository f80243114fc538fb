//! A prompt that the cassette does not hold, and what to say about it.

use std::collections::HashMap;

use windlass_core::cassette::strip_placeholder_numbers;
use windlass_core::{AgentEvent, ErrorCode};

use super::diff::diff;

/// Why a prompt has no answer.
#[derive(Debug)]
pub(super) struct PromptMiss {
    message: String,
}

impl PromptMiss {
    /// The prompt is not among these, of which some were played already.
    pub(super) fn new<'a>(asked: &str, recorded: impl Iterator<Item = (&'a str, bool)>) -> Self {
        let recorded: Vec<_> = recorded.collect();
        let key = strip_placeholder_numbers(asked);
        let times = recorded
            .iter()
            .filter(|(prompt, _)| strip_placeholder_numbers(prompt) == key)
            .count();
        let left = recorded
            .iter()
            .filter(|(_, played)| !played)
            .map(|(prompt, _)| *prompt);
        let all = recorded.iter().map(|(prompt, _)| *prompt);
        let message = if times > 0 {
            format!(
                "the cassette holds this prompt {times} time(s), and all of them were played: record it once more"
            )
        } else if let Some(nearest) = nearest(asked, left).or_else(|| nearest(asked, all)) {
            let diff = diff(nearest, asked);
            format!(
                "the cassette does not hold this prompt: record it anew. From the nearest (-) to this one (+):\n{diff}"
            )
        } else {
            "the cassette holds no turns: record one".to_owned()
        };
        Self { message }
    }
}

impl From<PromptMiss> for AgentEvent {
    fn from(miss: PromptMiss) -> Self {
        AgentEvent::Error {
            code: ErrorCode::BackendError,
            message: miss.message,
            // The same prompt will be missing again.
            recoverable: false,
        }
    }
}

/// The text that shares most words with this one, the earlier of two that share as many.
fn nearest<'a>(text: &str, others: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let words = counted(text);
    let mut best = None;
    for other in others {
        let theirs = counted(other);
        let of = |words: &HashMap<&str, usize>| words.values().sum::<usize>();
        let shared = theirs
            .iter()
            .map(|(word, times)| words.get(word).copied().unwrap_or(0).min(*times));
        // Dice's coefficient, in thousandths.
        let likeness = 2000 * shared.sum::<usize>() / (of(&words) + of(&theirs)).max(1);
        if best.is_none_or(|(most, _)| likeness > most) {
            best = Some((likeness, other));
        }
    }
    best.map(|(_, other)| other)
}

fn counted(text: &str) -> HashMap<&str, usize> {
    let mut words = HashMap::new();
    for word in text.split_whitespace() {
        *words.entry(word).or_insert(0) += 1;
    }
    words
}
