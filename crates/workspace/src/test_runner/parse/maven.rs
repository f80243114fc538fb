//! Maven with surefire.

use super::OutputParser;
use crate::test_runner::parsed::{FailureCollector, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

/// Parses the output of Maven. Each module has a summary.
#[derive(Debug, Default)]
pub(super) struct Maven {
    seen: bool,
    /// Whether the results of a module follow.
    results: bool,
    passed: u64,
    failed: u64,
    errors: u64,
    failures: FailureCollector,
}

impl OutputParser for Maven {
    fn line(&mut self, line: &str) {
        let Some((_, text)) = line
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("] "))
        else {
            self.failures.line(line);
            return;
        };
        self.failures.close();
        let is_case = text.contains("<<< FAILURE!") || text.contains("<<< ERROR!");
        if is_case && !text.starts_with("Tests run: ") {
            let name = text.split("  Time elapsed").next().unwrap_or(text);
            self.failures
                .start(name.split(" -- Time").next().unwrap_or(name));
        } else if text == "Results:" {
            self.results = true;
        } else if text.starts_with("Tests run: ") && std::mem::take(&mut self.results) {
            self.summary(text);
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedRun> {
        let run = ParsedRun::new(RunnerKind::Maven, self.passed, self.failed, self.errors);
        self.seen.then(|| run.with_failures(self.failures))
    }
}

impl Maven {
    /// Parses `Tests run: 3, Failures: 1, Errors: 0, Skipped: 1`.
    fn summary(&mut self, text: &str) {
        let number = |name: &str| -> Option<u64> {
            let rest = text.split_once(name)?.1;
            rest.split(',').next()?.trim().parse().ok()
        };
        let (Some(run), Some(failed), Some(errors), Some(skipped)) = (
            number("Tests run:"),
            number("Failures:"),
            number("Errors:"),
            number("Skipped:"),
        ) else {
            return;
        };
        self.seen = true;
        let others = failed.saturating_add(errors).saturating_add(skipped);
        self.passed = self.passed.saturating_add(run.saturating_sub(others));
        self.failed = self.failed.saturating_add(failed);
        self.errors = self.errors.saturating_add(errors);
    }
}
