//! The totals that node's test runner prints at the end of a report.

const NAMES: [&str; 5] = ["tests ", "pass ", "fail ", "cancelled ", "suites "];

/// The totals, by their names.
#[derive(Debug, Default)]
pub(super) struct NodeTotals {
    numbers: [Option<u64>; 5],
}

impl NodeTotals {
    /// Parses `pass 5`. Later totals replace earlier ones.
    pub(super) fn line(&mut self, text: &str) {
        for (number, name) in self.numbers.iter_mut().zip(NAMES) {
            let value = text
                .strip_prefix(name)
                .and_then(|rest| rest.trim().parse().ok());
            *number = value.or(*number);
        }
    }

    /// Returns how many tests passed, failed and were cancelled.
    pub(super) fn counts(&self) -> Option<(u64, u64, u64)> {
        let [tests, passed, failed, cancelled, _] = self.numbers;
        tests?;
        Some((passed?, failed?, cancelled.unwrap_or(0)))
    }

    /// Returns the number of suites.
    pub(super) fn suites(&self) -> u64 {
        self.numbers[4].unwrap_or(0)
    }
}
