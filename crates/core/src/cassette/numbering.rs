//! Numbers for things in the order in which they appear.

use std::collections::HashMap;

/// Gives each thing its number, counted from one.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    known: HashMap<String, u64>,
    taken: u64,
}

impl Numbering {
    /// Whether this thing has a number.
    pub(super) fn contains(&self, thing: &str) -> bool {
        self.known.contains_key(thing)
    }

    /// The number of this thing.
    pub(super) fn number_for(&mut self, thing: &str) -> u64 {
        if let Some(number) = self.known.get(thing) {
            return *number;
        }
        self.taken += 1;
        self.known.insert(thing.to_owned(), self.taken);
        self.taken
    }

    /// A number that the material already uses, and that nothing else may get.
    pub(super) fn reserve(&mut self, number: u64) {
        // A number near the end of the range is a literal of somebody's text, not one of ours.
        if number < u64::from(u32::MAX) {
            self.taken = self.taken.max(number);
        }
    }
}
