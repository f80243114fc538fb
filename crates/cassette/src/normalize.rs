//! Replaces machine-specific values in a recording by placeholders.

use std::collections::HashMap;
use std::fmt;

use serde_json::Value;

use crate::finders::{LocalValueFinder, SecretFinder};
use crate::{Cassette, Entry, Substitutions, rewrite, visit};

/// Replaces paths, ports, ids and secrets by placeholders.
///
/// Paths and secrets are given. Ids and ports are numbered in the order in which they appear, so use one
/// normalizer per cassette. Normalizing twice has no further effect.
pub struct Normalizer {
    secrets: SecretFinder,
    locals: LocalValueFinder,
}

impl Normalizer {
    /// Creates a normalizer for recordings from the machine with these paths and secrets.
    pub fn new(substitutions: &Substitutions) -> Self {
        Self {
            secrets: SecretFinder::new(substitutions),
            locals: LocalValueFinder::new(substitutions),
        }
    }

    /// Leaves ids and ports as they are. A text that contains one, such as a file that a model writes, is then the same
    /// in a replay.
    #[must_use]
    pub fn keeping_ids(mut self) -> Self {
        self.locals.keep_ids();
        self
    }

    /// Normalizes a whole recording.
    pub fn normalize_cassette(&mut self, cassette: &mut Cassette) {
        // All ids first: a text may contain an id before the id appears in its own field.
        for entry in &mut cassette.entries {
            visit::for_each_id(entry, &mut |id| self.locals.replace_id(id));
        }
        for entry in &mut cassette.entries {
            self.entry(entry);
        }
    }

    /// Normalizes one text.
    pub fn normalize_text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        self.normalize_chunks(&mut [&mut text]);
        text
    }

    /// Normalizes the strings of a value.
    pub fn normalize_value(&mut self, value: &mut Value) {
        visit::strings(value, &mut |text| self.normalize_chunks(&mut [text]));
    }

    fn entry(&mut self, entry: &mut Entry) {
        visit::for_each_value(entry, &mut |value| {
            visit::keys(value, &mut |key| self.normalize_chunks(&mut [key]));
        });
        let mut texts: Vec<Vec<&mut String>> = Vec::new();
        let mut streams = HashMap::new();
        for (stream, chunk) in visit::texts(entry) {
            let next = texts.len();
            let at = stream.map_or(next, |stream| *streams.entry(stream).or_insert(next));
            match texts.get_mut(at) {
                Some(chunks) => chunks.push(chunk),
                None => texts.push(vec![chunk]),
            }
        }
        for mut chunks in texts {
            self.normalize_chunks(&mut chunks);
        }
    }

    /// Normalizes a text that is split into chunks. Secrets come first, so that no other replacement hides a
    /// part of one.
    fn normalize_chunks(&mut self, chunks: &mut [&mut String]) {
        rewrite::rewrite(chunks, &mut self.secrets);
        rewrite::rewrite(chunks, &mut self.locals);
    }
}

impl fmt::Debug for Normalizer {
    /// Omits the fields, because they contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Normalizer").finish_non_exhaustive()
    }
}
