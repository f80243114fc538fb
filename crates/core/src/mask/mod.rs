//! Masks known secrets in everything that an agent outputs.
//!
//! A [`Masker`] knows the secrets by value, in the usual encodings. [`AgentHandle`](crate::AgentHandle) applies it to
//! the events, errors and permission requests of every turn, so that no terminal, store, trace, cassette or client
//! receives them. It is a protection against accidents: an agent that wants to reveal a secret can encode it.

mod chunks;
mod encodings;
mod event;
mod stream;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

pub use chunks::MaskedChunks;
pub use encodings::{json_escape, json_forms, percent_encode, secret_encodings};
pub(crate) use event::MaskedApprover;
pub(crate) use stream::MaskedStream;

/// The minimum length of a secret that is masked. Shorter values occur in ordinary text.
pub const MIN_SECRET_LEN: usize = 8;

/// Replaces known secrets by their names: `[masked:OPENAI_API_KEY]`. Cheap to clone.
#[derive(Clone, Default)]
pub struct Masker {
    patterns: Option<Arc<SecretPatterns>>,
}

/// The encoded forms of the secrets.
struct SecretPatterns {
    automaton: AhoCorasick,
    /// The replacement for each pattern of the automaton.
    replacements: Vec<String>,
    /// All encoded forms, sorted.
    sorted: Vec<String>,
    /// The length of the longest form.
    max_len: usize,
    /// Which bytes a form starts with.
    first_bytes: [bool; 256],
    /// Which pairs of bytes a form starts with, a bit for each: this alone rules most text out.
    first_pairs: Vec<u64>,
}

impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forms = self
            .patterns
            .as_ref()
            .map_or(0, |patterns| patterns.sorted.len());
        write!(f, "Masker({forms} forms)")
    }
}

impl Masker {
    /// Creates a masker for these secrets, each with its name. Values shorter than [`MIN_SECRET_LEN`] are ignored.
    pub fn new(secrets: impl IntoIterator<Item = (String, SecretString)>) -> Self {
        let mut patterns = Vec::new();
        for (name, secret) in secrets {
            // A trailing line break of a file or variable is not part of the secret.
            let secret = secret.expose_secret().trim();
            if secret.len() >= MIN_SECRET_LEN {
                let replacement = format!("[masked:{}]", plain_name(&name));
                let forms = secret_encodings(secret).into_iter();
                patterns.extend(forms.map(|form| (form, replacement.clone())));
            }
        }
        patterns.sort();
        patterns.dedup_by(|one, another| one.0 == another.0);
        let (sorted, replacements): (Vec<String>, Vec<String>) = patterns.into_iter().unzip();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&sorted);
        let automaton = automaton.ok().filter(|_| !sorted.is_empty());
        let mut first_bytes = [false; 256];
        let mut first_pairs = vec![0; 1 << 10];
        for form in &sorted {
            if let [first, second, ..] = *form.as_bytes() {
                first_bytes[usize::from(first)] = true;
                let (word, bit) = pair_bit(first, second);
                first_pairs[word] |= bit;
            }
        }
        Self {
            patterns: automaton.map(|automaton| {
                Arc::new(SecretPatterns {
                    automaton,
                    replacements,
                    max_len: sorted.iter().map(String::len).max().unwrap_or(0),
                    sorted,
                    first_bytes,
                    first_pairs,
                })
            }),
        }
    }

    /// Returns `true` if there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_none()
    }

    /// Returns the text with all secrets masked.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.patterns {
            Some(patterns) if patterns.automaton.is_match(text) => {
                let mut masked = String::with_capacity(text.len());
                patterns
                    .automaton
                    .replace_all_with(text, &mut masked, |found, _, out| {
                        out.push_str(&patterns.replacements[found.pattern()]);
                        true
                    });
                Cow::Owned(masked)
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// Returns the bytes with all secrets masked, or `None` if they contain none.
    pub fn bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let patterns = self.patterns.as_ref()?;
        patterns.automaton.is_match(bytes).then(|| {
            let replacements = &patterns.replacements;
            patterns.automaton.replace_all_bytes(bytes, replacements)
        })
    }

    /// Masks a string in place.
    pub fn string(&self, text: &mut String) {
        if let Cow::Owned(masked) = self.text(text) {
            *text = masked;
        }
    }

    /// Masks all strings of a JSON value in place, including the names of fields.
    pub fn value(&self, value: &mut Value) {
        if self.is_empty() {
            return;
        }
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                let has_secret_name = fields
                    .keys()
                    .any(|name| matches!(self.text(name), Cow::Owned(_)));
                if has_secret_name {
                    *fields = std::mem::take(fields)
                        .into_iter()
                        .map(|(name, field)| (self.text(&name).into_owned(), field))
                        .collect();
                }
                fields.values_mut().for_each(|field| self.value(field));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns `true` if no secret is in these bytes.
    pub fn is_clean(&self, bytes: &[u8]) -> bool {
        let patterns = self.patterns.as_ref();
        patterns.is_none_or(|patterns| !patterns.automaton.is_match(bytes))
    }

    /// Returns `true` if the text ends with what may be the beginning of a secret.
    pub fn is_open(&self, text: &[u8]) -> bool {
        self.open_tail(text) < text.len()
    }

    /// Returns the start of the longest tail of the text that may be the beginning of a secret. It is not within a
    /// character, because no form starts there.
    fn open_tail(&self, text: &[u8]) -> usize {
        let Some(patterns) = &self.patterns else {
            return text.len();
        };
        let first = text.len().saturating_sub(patterns.max_len - 1);
        let mut tails = (first..text.len()).filter(|at| patterns.may_start(&text[*at..]));
        let open = tails.find(|at| patterns.has_longer(&text[*at..]));
        open.unwrap_or(text.len())
    }

    /// Returns the end of the match that starts before this position and ends after it, if there is one.
    fn match_across(&self, text: &str, at: usize) -> Option<usize> {
        let patterns = self.patterns.as_ref()?;
        let mut matches = patterns.automaton.find_iter(text);
        let across = matches.find(|found| found.start() < at && at < found.end());
        across.map(|found| found.end())
    }
}

impl SecretPatterns {
    /// Returns `false` if no form starts like this text.
    fn may_start(&self, text: &[u8]) -> bool {
        match *text {
            [first, second, ..] => {
                let (word, bit) = pair_bit(first, second);
                self.first_pairs[word] & bit != 0
            }
            [first] => self.first_bytes[usize::from(first)],
            [] => false,
        }
    }

    /// Returns `true` if a form starts with this text and is longer.
    fn has_longer(&self, text: &[u8]) -> bool {
        let next = self.sorted.partition_point(|form| form.as_bytes() <= text);
        let next = self.sorted.get(next);
        next.is_some_and(|form| form.as_bytes().starts_with(text))
    }
}

/// Returns the word and the bit of a pair of bytes.
fn pair_bit(first: u8, second: u8) -> (usize, u64) {
    let pair = usize::from(first) << 8 | usize::from(second);
    (pair / 64, 1 << (pair % 64))
}

/// Returns the name with only letters, digits and underscores, so that it is the same in every encoding.
fn plain_name(name: &str) -> String {
    name.chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}
