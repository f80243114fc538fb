//! A task's text as the words to look for.

use std::collections::HashMap;

use crate::bag::IdentityBuildHasher;
use crate::words::{WordHash, for_each_word};

/// The most different words that are looked for: the first ones of a longer text.
const MAX_WORDS: usize = 400;
/// A longer task is cut here: its beginning says what is wanted.
const MAX_BYTES: usize = 16_000;

/// Words that every text has and that say nothing.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "do", "does", "for",
    "from", "had", "has", "have", "if", "in", "into", "is", "it", "its", "not", "of", "on", "or",
    "should", "so", "such", "than", "that", "the", "their", "then", "there", "these", "this", "to",
    "was", "we", "were", "when", "which", "will", "with", "would", "you",
];

/// The words to look for.
#[derive(Debug)]
pub(crate) struct RankQuery {
    /// In ascending order.
    pub(crate) words: Vec<WordHash>,
    /// How much each matters by how often it was said.
    pub(crate) weights: Vec<f32>,
    /// How each was first written.
    pub(crate) said: Vec<String>,
}

impl RankQuery {
    pub(crate) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut counts: HashMap<WordHash, (u32, String), IdentityBuildHasher> = HashMap::default();
        for_each_word(&bytes[..bytes.len().min(MAX_BYTES)], |word, said| {
            if is_empty(said) {
                return;
            }
            if let Some((count, _)) = counts.get_mut(&word) {
                *count += 1;
            } else if counts.len() < MAX_WORDS {
                counts.insert(word, (1, String::from_utf8_lossy(said).into_owned()));
            }
        });
        let mut counts: Vec<(WordHash, (u32, String))> = counts.into_iter().collect();
        counts.sort_unstable();
        let mut query = Self {
            words: Vec::with_capacity(counts.len()),
            weights: Vec::with_capacity(counts.len()),
            said: Vec::with_capacity(counts.len()),
        };
        for (word, (count, said)) in counts {
            query.words.push(word);
            query.weights.push(1.0 + (count as f32).ln());
            query.said.push(said);
        }
        query
    }
}

fn is_empty(said: &[u8]) -> bool {
    STOP_WORDS
        .iter()
        .any(|word| said.eq_ignore_ascii_case(word.as_bytes()))
}
