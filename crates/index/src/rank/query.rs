//! A task's text as the words to look for.

use std::collections::HashMap;

use crate::bag::Plain;
use crate::words::{Word, words};

/// The most different words that are looked for: the first ones of a longer text.
const WORDS: usize = 400;
/// A longer task is cut here: its beginning says what is wanted.
const BYTES: usize = 16_000;

/// Words that every text has and that say nothing.
const EMPTY: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "do", "does", "for",
    "from", "had", "has", "have", "if", "in", "into", "is", "it", "its", "not", "of", "on", "or",
    "should", "so", "such", "than", "that", "the", "their", "then", "there", "these", "this", "to",
    "was", "we", "were", "when", "which", "will", "with", "would", "you",
];

/// The words to look for.
#[derive(Debug)]
pub(crate) struct Query {
    /// In ascending order.
    pub(crate) words: Vec<Word>,
    /// How much each matters by how often it was said.
    pub(crate) weights: Vec<f32>,
    /// How each was first written.
    pub(crate) said: Vec<String>,
}

impl Query {
    pub(crate) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut counts: HashMap<Word, (u32, String), Plain> = HashMap::default();
        words(&bytes[..bytes.len().min(BYTES)], |word, said| {
            if is_empty(said) {
                return;
            }
            if let Some((count, _)) = counts.get_mut(&word) {
                *count += 1;
            } else if counts.len() < WORDS {
                counts.insert(word, (1, String::from_utf8_lossy(said).into_owned()));
            }
        });
        let mut counts: Vec<(Word, (u32, String))> = counts.into_iter().collect();
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
    EMPTY
        .iter()
        .any(|word| said.eq_ignore_ascii_case(word.as_bytes()))
}
