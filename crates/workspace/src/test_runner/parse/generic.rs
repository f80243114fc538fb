//! Whatever else says how many passed and how many failed.

use super::{ParsedOutput, count};

const PASSED: &[&str] = &["passed", "passing", "passes", "pass", "ok", "succeeded"];
const FAILED: &[&str] = &["failed", "failing", "failures", "failure", "fail"];
const ERRORS: &[&str] = &["errors", "error"];

/// No sum is longer.
const MAX_LINE_LEN: usize = 400;

/// Reads the last line that looks like a sum.
#[derive(Debug, Default)]
pub(super) struct GenericParser {
    found: Option<(u64, u64, u64)>,
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
            self.found = Some((passed.unwrap_or(0), failed.unwrap_or(0), errors));
        }
    }

    pub(super) fn finish(self) -> Option<ParsedOutput> {
        let (passed, failed, errors) = self.found?;
        Some(ParsedOutput::new(passed, failed, errors, Vec::new()))
    }
}
