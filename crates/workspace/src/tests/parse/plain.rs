//! Whatever else says how many passed and how many failed.

use super::{Found, count};

const PASSED: &[&str] = &["passed", "passing", "passes", "pass", "ok", "succeeded"];
const FAILED: &[&str] = &["failed", "failing", "failures", "failure", "fail"];
const ERRORS: &[&str] = &["errors", "error"];

/// No sum is longer.
const LONGEST: usize = 400;

/// Reads the last line that looks like a sum.
#[derive(Debug, Default)]
pub(super) struct Plain {
    found: Option<(u64, u64, u64)>,
}

impl Plain {
    pub(super) fn line(&mut self, line: &str) {
        if !line.bytes().any(|byte| byte.is_ascii_digit()) || line.len() > LONGEST {
            return;
        }
        let line = line.to_lowercase();
        let (passed, failed) = (count(&line, PASSED), count(&line, FAILED));
        if passed.is_some() || failed.is_some() {
            let errors = count(&line, ERRORS).unwrap_or(0);
            self.found = Some((passed.unwrap_or(0), failed.unwrap_or(0), errors));
        }
    }

    pub(super) fn finish(self) -> Option<Found> {
        let (passed, failed, errors) = self.found?;
        Some(Found::new(passed, failed, errors, Vec::new()))
    }
}
