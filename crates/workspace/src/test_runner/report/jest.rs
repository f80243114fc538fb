//! The JSON reports of Jest and Vitest.

use std::path::Path;

use serde::Deserialize;
use windlass_tasks::CaseStatus;

use super::error::ReportError;
use crate::test_runner::parsed::{FailureCollector, NamedCases, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JestReport {
    test_results: Vec<TestFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TestFile {
    name: String,
    status: String,
    #[serde(default)]
    message: String,
    assertion_results: Vec<Assertion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assertion {
    title: String,
    status: String,
    ancestor_titles: Vec<String>,
    #[serde(default)]
    failure_messages: Option<Vec<String>>,
}

/// Parses a report of a run in this directory. A case is named `src/add.test.js > add > sums`.
pub(crate) fn parse(runner: RunnerKind, text: &str, root: &Path) -> Result<ParsedRun, ReportError> {
    let report: JestReport = serde_json::from_str(text).map_err(ReportError::malformed)?;
    let (mut cases, mut failures) = (NamedCases::default(), FailureCollector::default());
    let mut errors = 0;
    for file in report.test_results {
        let path = Path::new(&file.name);
        let path = path
            .strip_prefix(root)
            .unwrap_or(path)
            .display()
            .to_string();
        let mut has_failed = false;
        for assertion in &file.assertion_results {
            let status = match assertion.status.as_str() {
                "passed" => CaseStatus::Passed,
                "failed" => CaseStatus::Failed,
                _ => CaseStatus::Skipped,
            };
            let titles = assertion.ancestor_titles.iter().chain([&assertion.title]);
            let names: Vec<&str> = [path.as_str()]
                .into_iter()
                .chain(titles.map(String::as_str))
                .collect();
            let name = names.join(" > ");
            cases.add_numbered(&name, status);
            if status == CaseStatus::Failed {
                has_failed = true;
                fail(
                    &mut failures,
                    &name,
                    assertion.failure_messages.as_deref().unwrap_or_default(),
                );
            }
        }
        // The file could not be loaded, or failed outside of its cases.
        if file.status == "failed" && !has_failed {
            errors += 1;
            cases.add(&path, CaseStatus::Failed);
            fail(&mut failures, &path, &[file.message]);
        }
    }
    let run = ParsedRun::from_cases(runner, cases).with_errors(errors);
    Ok(run.with_failures(failures))
}

fn fail(failures: &mut FailureCollector, name: &str, messages: &[String]) {
    failures.start(name);
    for line in messages.iter().flat_map(|message| message.lines()) {
        failures.line(line);
    }
    failures.close();
}
