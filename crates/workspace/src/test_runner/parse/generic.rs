//! Any other output with numbers of passed and failed tests.

use super::count;
use crate::test_runner::parsed::ParsedRun;
use crate::test_runner::runner_kind::RunnerKind;

const PASSED: &[&str] = &["passed", "passing", "passes", "pass", "ok", "succeeded"];
const FAILED: &[&str] = &["failed", "failing", "failures", "failure", "fail"];
const ERRORS: &[&str] = &["errors", "error"];

/// Maximum length of a summary line.
const MAX_LINE_LEN: usize = 400;

/// Parses the last line that looks like a summary.
#[derive(Debug, Default)]
pub(super) struct GenericParser {
    counts: Option<(u64, u64, u64)>,
}

impl GenericParser {
    pub(super) fn line(&mut self, line: &str) {
        if !line.bytes().any(|byte| byte.is_ascii_digit()) || line.len() > MAX_LINE_LEN {
            return;
        }
        let line = line.to_lowercase();
        let (passed, failed) = (count(&line, PASSED), count(&line, FAILED));
        if passed.is_some() || failed.is_some() {
            let errors = count(&line, ERRORS).unwrap_or(0);
            self.counts = Some((passed.unwrap_or(0), failed.unwrap_or(0), errors));
        }
    }

    pub(super) fn finish(self) -> Option<ParsedRun> {
        let (passed, failed, errors) = self.counts?;
        Some(ParsedRun::new(RunnerKind::Unknown, passed, failed, errors))
    }
}
