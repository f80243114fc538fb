//! Numbers values in the order in which they appear.

use std::collections::HashMap;

/// Assigns numbers to values, counted from one.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    known: HashMap<String, u64>,
    last: u64,
}

impl Numbering {
    /// Returns `true` if this value has a number.
    pub(crate) fn contains(&self, value: &str) -> bool {
        self.known.contains_key(value)
    }

    /// Returns the number of this value. A new value gets the next number.
    pub(crate) fn number_for(&mut self, value: &str) -> u64 {
        if let Some(number) = self.known.get(value) {
            return *number;
        }
        self.last += 1;
        self.known.insert(value.to_owned(), self.last);
        self.last
    }

    /// Reserves a number that the text already uses.
    pub(crate) fn reserve(&mut self, number: u64) {
        // A number near the end of the range is a literal in the text, not an assigned number.
        if number < u64::from(u32::MAX) {
            self.last = self.last.max(number);
        }
    }
}
