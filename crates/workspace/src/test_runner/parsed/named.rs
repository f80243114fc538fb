//! The cases of a run by name, within limits.

use std::collections::BTreeMap;

use windlass_tasks::{CaseResults, CaseStatus};

/// Maximum length of a name.
const MAX_NAME_CHARS: usize = 400;
/// Maximum length of all names.
const MAX_NAMES_BYTES: usize = 16 << 20;

/// Cases by name, and how many there were of each status. Two cases of one name count twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NamedCases {
    results: CaseResults,
    /// How often a name was added with [`add_numbered`](Self::add_numbered).
    repeats: BTreeMap<String, u32>,
    bytes: usize,
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// How many cases are not in the results because of the limits.
    pub(crate) dropped: u64,
}

impl NamedCases {
    /// Adds a case.
    pub(crate) fn add(&mut self, name: &str, status: CaseStatus) {
        match status {
            CaseStatus::Passed => self.passed += 1,
            CaseStatus::Failed => self.failed += 1,
            CaseStatus::Skipped => self.skipped += 1,
        }
        let name: String = name.trim().chars().take(MAX_NAME_CHARS).collect();
        let is_new = self.results.get(&name).is_none();
        let is_full = self.results.len() >= CaseResults::MAX || self.bytes > MAX_NAMES_BYTES;
        if is_new && is_full {
            self.dropped += 1;
            return;
        }
        if is_new {
            self.bytes += name.len();
        }
        self.results.insert(name, status);
    }

    /// Adds a case of a runner that does not name the file of a case: the second one of a name becomes `name #2`.
    pub(crate) fn add_numbered(&mut self, name: &str, status: CaseStatus) {
        let is_repeated = self.results.get(name).is_some();
        if !is_repeated || self.repeats.len() >= CaseResults::MAX {
            self.add(name, status);
            return;
        }
        let repeats = self.repeats.entry(name.to_owned()).or_insert(1);
        *repeats = repeats.saturating_add(1);
        let numbered = format!("{name} #{repeats}");
        self.add(&numbered, status);
    }

    /// Returns how many cases were added.
    pub(crate) fn total(&self) -> u64 {
        self.passed
            .saturating_add(self.failed)
            .saturating_add(self.skipped)
    }

    /// Adds the cases of another run.
    pub(crate) fn extend(&mut self, other: &Self) {
        let (passed, failed, skipped) = (self.passed, self.failed, self.skipped);
        other
            .results
            .iter()
            .for_each(|(name, status)| self.add(name, status));
        self.passed = passed.saturating_add(other.passed);
        self.failed = failed.saturating_add(other.failed);
        self.skipped = skipped.saturating_add(other.skipped);
        self.dropped = self.dropped.saturating_add(other.dropped);
    }

    /// Returns `true` if there are no cases.
    pub(crate) fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Returns the results by name.
    pub(crate) fn into_results(self) -> CaseResults {
        self.results
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p12_number_and_size_of_names_are_bounded() {
        let mut cases = NamedCases::default();
        for number in 0..CaseResults::MAX + 10 {
            cases.add(&format!("{number}"), CaseStatus::Passed);
        }
        assert_eq!(cases.dropped, 10);
        assert_eq!(cases.passed as usize, CaseResults::MAX + 10);
        let mut long = NamedCases::default();
        for number in 0..60_000 {
            long.add(
                &format!("{number}{}", "x".repeat(5_000)),
                CaseStatus::Failed,
            );
        }
        assert!(long.dropped > 0 && long.bytes < MAX_NAMES_BYTES + 2 * MAX_NAME_CHARS);
        assert_eq!(long.failed, 60_000);
    }
}
