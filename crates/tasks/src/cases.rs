//! Test cases by name, and the differences between two test runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The result of one test case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseStatus {
    /// The case ran and passed.
    Passed,
    /// The case ran and failed, or could not be run to completion.
    Failed,
    /// The case did not run: it is marked as skipped, ignored or to do.
    Skipped,
}

/// The results of all cases of a test run, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CaseResults {
    cases: BTreeMap<String, CaseStatus>,
}

impl CaseResults {
    /// Maximum number of cases. Further cases are dropped.
    pub const MAX: usize = 100_000;

    /// Adds a case. If a name occurs twice, the worse result counts: failed, then skipped, then passed.
    pub fn insert(&mut self, name: impl Into<String>, status: CaseStatus) {
        let name = name.into();
        if self.cases.len() >= Self::MAX && !self.cases.contains_key(&name) {
            return;
        }
        let current = self.cases.entry(name).or_insert(status);
        if severity(status) > severity(*current) {
            *current = status;
        }
    }

    /// Returns the result of a case.
    pub fn get(&self, name: &str) -> Option<CaseStatus> {
        self.cases.get(name).copied()
    }

    /// Returns all cases, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, CaseStatus)> {
        self.cases
            .iter()
            .map(|(name, status)| (name.as_str(), *status))
    }

    /// Returns the number of cases.
    pub fn len(&self) -> usize {
        self.cases.len()
    }

    /// Returns `true` if there are no cases.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }
}

fn severity(status: CaseStatus) -> u8 {
    match status {
        CaseStatus::Passed => 0,
        CaseStatus::Skipped => 1,
        CaseStatus::Failed => 2,
    }
}

/// The differences between a test run and an earlier one, by case. Each list is sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CaseChanges {
    /// Cases that failed before and pass now.
    pub fixed: Vec<String>,
    /// Cases that failed before and fail now.
    pub still_failing: Vec<String>,
    /// Cases that passed before and fail now.
    pub broken: Vec<String>,
    /// Cases that passed before and are skipped now.
    pub skipped: Vec<String>,
    /// Cases that did not exist before.
    pub new: Vec<String>,
    /// Cases that existed before and are missing now.
    pub removed: Vec<String>,
    /// Cases that failed and then passed on the same files.
    pub flaky: Vec<String>,
}

impl CaseChanges {
    /// Compares two runs.
    pub fn between(before: &CaseResults, after: &CaseResults) -> Self {
        let mut changes = Self::default();
        for (name, now) in after.iter() {
            let list = match (before.get(name), now) {
                (None, _) => &mut changes.new,
                (Some(CaseStatus::Failed), CaseStatus::Passed) => &mut changes.fixed,
                (Some(CaseStatus::Failed), CaseStatus::Failed) => &mut changes.still_failing,
                (Some(CaseStatus::Passed), CaseStatus::Failed) => &mut changes.broken,
                (Some(CaseStatus::Passed), CaseStatus::Skipped) => &mut changes.skipped,
                _ => continue,
            };
            list.push(name.to_owned());
        }
        let missing = before.iter().filter(|(name, _)| after.get(name).is_none());
        changes.removed = missing.map(|(name, _)| name.to_owned()).collect();
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(cases: &[(&str, CaseStatus)]) -> CaseResults {
        let mut results = CaseResults::default();
        for (name, status) in cases {
            results.insert(*name, *status);
        }
        results
    }

    #[test]
    fn each_case_is_in_one_list() {
        use CaseStatus::{Failed, Passed, Skipped};
        let before = results(&[
            ("a", Passed),
            ("b", Passed),
            ("c", Failed),
            ("d", Failed),
            ("e", Passed),
            ("f", Passed),
            ("g", Skipped),
        ]);
        let after = results(&[
            ("a", Passed),
            ("b", Failed),
            ("c", Passed),
            ("d", Failed),
            ("e", Skipped),
            ("g", Passed),
            ("h", Passed),
        ]);
        let changes = CaseChanges::between(&before, &after);
        assert_eq!(changes.broken, ["b"]);
        assert_eq!(changes.fixed, ["c"]);
        assert_eq!(changes.still_failing, ["d"]);
        assert_eq!(changes.skipped, ["e"]);
        assert_eq!(changes.removed, ["f"]);
        assert_eq!(changes.new, ["h"]);
    }

    #[test]
    fn worse_result_of_two_cases_with_one_name_counts() {
        let mut cases = results(&[("a", CaseStatus::Failed)]);
        cases.insert("a", CaseStatus::Passed);
        assert_eq!(cases.get("a"), Some(CaseStatus::Failed));
        assert_eq!(cases.len(), 1);
    }
}
