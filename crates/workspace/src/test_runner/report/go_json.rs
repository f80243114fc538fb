//! The events of `go test -json`.

use serde::Deserialize;
use windlass_tasks::CaseStatus;

use crate::test_runner::parsed::{NamedCases, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

/// Reads the events of `go test -json` and turns them back into its usual output.
#[derive(Debug, Default)]
pub(crate) struct GoEvents {
    cases: NamedCases,
    /// Packages that failed to build, or with tests that did not end in an orderly way.
    errors: u64,
    seen: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoEvent {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
    #[serde(default)]
    failed_build: String,
}

impl GoEvents {
    /// Processes a line. Returns the output in it; a line that is not an event is output itself.
    pub(crate) fn line(&mut self, line: &str) -> Option<String> {
        let event = match serde_json::from_str::<GoEvent>(line) {
            Ok(event) if line.starts_with('{') => event,
            _ => return Some(line.to_owned()),
        };
        self.seen = true;
        let status = match event.action.as_str() {
            "output" | "build-output" => {
                return Some(event.output.trim_end_matches('\n').to_owned());
            }
            "pass" => CaseStatus::Passed,
            "fail" => CaseStatus::Failed,
            "skip" => CaseStatus::Skipped,
            _ => return None,
        };
        if !event.test.is_empty() {
            let name = format!("{} {}", event.package, event.test);
            self.cases.add(&name, status);
        } else if !event.failed_build.is_empty() {
            self.errors += 1;
        }
        None
    }

    /// Returns the result, or `None` if there was no event.
    pub(crate) fn finish(self) -> Option<ParsedRun> {
        let mut run = ParsedRun::from_cases(RunnerKind::Go, self.cases);
        run.counts.errors = self.errors;
        run.counts.total = run.counts.total.saturating_add(self.errors);
        self.seen.then_some(run)
    }
}
