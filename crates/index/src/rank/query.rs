//! Converts a task's text to the words to search for.

use std::collections::{HashMap, HashSet};

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

/// Words that say that something is to be done, but not where. They tell nothing about past commits, and in a first
/// line they drown the others.
const TASK_WORDS: &[&str] = &[
    "fix",
    "fixes",
    "add",
    "adds",
    "remove",
    "make",
    "change",
    "update",
    "support",
    "allow",
    "avoid",
    "ensure",
    "use",
    "used",
    "using",
    "new",
    "issue",
    "bug",
    "code",
    "case",
    "improve",
    "handle",
    "prevent",
    "instead",
    "also",
    "only",
    "now",
    "more",
    "correct",
    "properly",
    "problem",
    "implement",
];
/// Minimum size of a name; shorter ones are ordinary words.
const MIN_NAME_BYTES: usize = 3;

/// The words to search for.
#[derive(Debug)]
pub(crate) struct RankQuery {
    /// In ascending order.
    pub(crate) words: Vec<WordHash>,
    /// Weight of each word by its number of occurrences.
    pub(crate) weights: Vec<f32>,
    /// Weight of each word by its number of occurrences in the first line.
    pub(crate) subject: Vec<f32>,
    /// Weight of each word in a commit message.
    pub(crate) message: Vec<f32>,
    /// The first spelling of each word.
    pub(crate) spellings: Vec<String>,
    /// The words that are spelled like a name in code.
    pub(crate) names: HashSet<String>,
}

/// How often a word occurs in a task.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct WordCount {
    all: u32,
    in_subject: u32,
    spelling: String,
}

impl RankQuery {
    pub(crate) fn new(text: &str) -> Self {
        let text = text.trim_start();
        let bytes = &text.as_bytes()[..text.len().min(MAX_BYTES)];
        let subject_bytes = bytes.iter().position(|byte| *byte == b'\n');
        let (subject, rest) = bytes.split_at(subject_bytes.unwrap_or(bytes.len()));
        let mut counts: HashMap<WordHash, WordCount, IdentityBuildHasher> = HashMap::default();
        for (part, in_subject) in [(subject, 1), (rest, 0)] {
            for_each_word(part, |word, spelling| {
                let is_known = counts.contains_key(&word);
                if is_stop_word(spelling) || (!is_known && counts.len() >= MAX_WORDS) {
                    return;
                }
                let count = counts.entry(word).or_default();
                count.all += 1;
                count.in_subject += in_subject;
                if count.spelling.is_empty() {
                    count.spelling = String::from_utf8_lossy(spelling).into_owned();
                }
            });
        }
        let mut counts: Vec<(WordHash, WordCount)> = counts.into_iter().collect();
        counts.sort_unstable();
        let mut query = Self {
            words: Vec::with_capacity(counts.len()),
            weights: Vec::with_capacity(counts.len()),
            subject: Vec::with_capacity(counts.len()),
            message: Vec::with_capacity(counts.len()),
            spellings: Vec::with_capacity(counts.len()),
            names: names(bytes),
        };
        let task_words = task_words();
        for (word, count) in counts {
            let (all, in_subject) = (weight(count.all), weight(count.in_subject));
            let is_specific = f32::from(u8::from(!task_words.contains(&word)));
            query.words.push(word);
            query.weights.push(all);
            query.subject.push(in_subject * is_specific);
            let in_message = if in_subject > 0.0 { 2.0 * all } else { all };
            query.message.push(in_message * is_specific);
            query.spellings.push(count.spelling);
        }
        query
    }
}

/// Returns the weight of a word by its number of occurrences.
fn weight(count: u32) -> f32 {
    if count == 0 {
        0.0
    } else {
        1.0 + (count as f32).ln()
    }
}

fn task_words() -> HashSet<WordHash> {
    let mut hashes = HashSet::new();
    for word in TASK_WORDS {
        for_each_word(word.as_bytes(), |hash, _| {
            hashes.insert(hash);
        });
    }
    hashes
}

/// Returns the words that are spelled like a name in code: with an underscore or an uppercase letter inside, in
/// backquotes, or followed by a parenthesis.
fn names(text: &[u8]) -> HashSet<String> {
    let mut names = HashSet::new();
    let mut end = 0;
    for token in text.split(|byte| !is_name_byte(*byte)) {
        let start = end;
        end = start + token.len() + 1;
        let before = start.checked_sub(1).map(|at| text[at]);
        let after = text.get(start + token.len()).copied();
        let is_marked = (before, after) == (Some(b'`'), Some(b'`')) || after == Some(b'(');
        if token.len() >= MIN_NAME_BYTES && (is_marked || is_spelled_like_name(token)) {
            names.insert(String::from_utf8_lossy(token).into_owned());
        }
    }
    names
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_spelled_like_name(token: &[u8]) -> bool {
    let inner = token.get(1..token.len() - 1).unwrap_or_default();
    let has_case_change = token
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    token.iter().any(u8::is_ascii_alphabetic) && (has_case_change || inner.contains(&b'_'))
}

fn is_stop_word(spelling: &[u8]) -> bool {
    STOP_WORDS
        .iter()
        .any(|word| spelling.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_ordinary_words() {
        let text =
            b"Call renew_lease() in `claim` of HTTPServerPool, not of the SQL (Server) pool_";
        let mut names: Vec<String> = names(text).into_iter().collect();
        names.sort_unstable();
        assert_eq!(names, ["HTTPServerPool", "claim", "renew_lease"]);
    }

    #[test]
    fn first_line_has_its_own_weights() {
        let query = RankQuery::new("\nFix the lease\n\nThe lease and the clock.\n");
        let of = |name: &str| {
            let at = query
                .spellings
                .iter()
                .position(|word| word == name)
                .unwrap();
            (query.subject[at], query.message[at])
        };
        assert_eq!(of("Fix"), (0.0, 0.0));
        assert_eq!(of("lease"), (1.0, 2.0 * (1.0 + 2f32.ln())));
        assert_eq!(of("clock"), (0.0, 1.0));
    }
}
