//! Converts a task's text to the words to search for.

use std::collections::HashMap;

use crate::bag::IdentityBuildHasher;
use crate::words::{WordHash, for_each_word};

/// Maximum number of distinct words: the first ones of a longer text are used.
const MAX_WORDS: usize = 400;
/// Maximum number of bytes of a task; a longer text is truncated, because the request is usually at its
/// beginning.
const MAX_BYTES: usize = 16_000;

/// Words that every text has.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "do", "does", "for",
    "from", "had", "has", "have", "if", "in", "into", "is", "it", "its", "not", "of", "on", "or",
    "should", "so", "such", "than", "that", "the", "their", "then", "there", "these", "this", "to",
    "was", "we", "were", "when", "which", "will", "with", "would", "you",
];

/// The words to search for.
#[derive(Debug)]
pub(crate) struct RankQuery {
    /// In ascending order.
    pub(crate) words: Vec<WordHash>,
    /// Weight of each word by its number of occurrences.
    pub(crate) weights: Vec<f32>,
    /// The first spelling of each word.
    pub(crate) spellings: Vec<String>,
}

impl RankQuery {
    pub(crate) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut counts: HashMap<WordHash, (u32, String), IdentityBuildHasher> = HashMap::default();
        for_each_word(&bytes[..bytes.len().min(MAX_BYTES)], |word, spelling| {
            if is_stop_word(spelling) {
                return;
            }
            if let Some((count, _)) = counts.get_mut(&word) {
                *count += 1;
            } else if counts.len() < MAX_WORDS {
                counts.insert(word, (1, String::from_utf8_lossy(spelling).into_owned()));
            }
        });
        let mut counts: Vec<(WordHash, (u32, String))> = counts.into_iter().collect();
        counts.sort_unstable();
        let mut query = Self {
            words: Vec::with_capacity(counts.len()),
            weights: Vec::with_capacity(counts.len()),
            spellings: Vec::with_capacity(counts.len()),
        };
        for (word, (count, spelling)) in counts {
            query.words.push(word);
            query.weights.push(1.0 + (count as f32).ln());
            query.spellings.push(spelling);
        }
        query
    }
}

fn is_stop_word(spelling: &[u8]) -> bool {
    STOP_WORDS
        .iter()
        .any(|word| spelling.eq_ignore_ascii_case(word.as_bytes()))
}
