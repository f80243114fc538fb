//! Placeholders in the place of what belongs to one machine or one day.

use std::collections::HashMap;
use std::fmt;

use super::finders::{LocalValueFinder, SecretFinder};
use super::{Cassette, Entry, Substitutions, rewrite, visit};

/// Puts placeholders in the place of paths, ports, ids and secrets.
///
/// It is told the paths and secrets, and learns ids and ports in the order in which they appear; so one
/// normaliser belongs to one cassette. What is normalised already stays as it is.
pub struct Normalizer {
    secrets: SecretFinder,
    locals: LocalValueFinder,
}

impl Normalizer {
    /// A normaliser for what was recorded at these places.
    pub fn new(places: &Substitutions) -> Self {
        Self {
            secrets: SecretFinder::new(places),
            locals: LocalValueFinder::new(places),
        }
    }

    /// Normalises a whole recording.
    pub fn normalize_cassette(&mut self, cassette: &mut Cassette) {
        // All ids first: a text may name one before it stands in its own field.
        for entry in &mut cassette.entries {
            visit::for_each_id(entry, &mut |id| self.locals.replace_id(id));
        }
        for entry in &mut cassette.entries {
            self.entry(entry);
        }
    }

    /// Normalises one text.
    pub fn normalize_text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        self.joined(&mut [&mut text]);
        text
    }

    fn entry(&mut self, entry: &mut Entry) {
        visit::for_each_value(entry, &mut |value| {
            visit::keys(value, &mut |key| self.joined(&mut [key]));
        });
        let mut texts: Vec<Vec<&mut String>> = Vec::new();
        let mut streams = HashMap::new();
        for (stream, piece) in visit::texts(entry) {
            let next = texts.len();
            let at = stream.map_or(next, |stream| *streams.entry(stream).or_insert(next));
            match texts.get_mut(at) {
                Some(pieces) => pieces.push(piece),
                None => texts.push(vec![piece]),
            }
        }
        for mut pieces in texts {
            self.joined(&mut pieces);
        }
    }

    /// Normalises a text that came in pieces: secrets first, so that nothing else hides a part of one.
    fn joined(&mut self, pieces: &mut [&mut String]) {
        rewrite::rewrite(pieces, &mut self.secrets);
        rewrite::rewrite(pieces, &mut self.locals);
    }
}

impl fmt::Debug for Normalizer {
    /// It holds secrets, and is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Normaliser").finish_non_exhaustive()
    }
}
