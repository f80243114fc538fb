//! The result of the check of a case.

use super::Verdict;

/// Why a case stops early.
#[derive(Debug)]
pub(super) enum CaseStop {
    /// The backend does not support it and reports that.
    Unsupported(String),
    /// The backend misbehaves.
    Failed(String),
}

/// The result of a check.
pub(super) type CheckResult<T = ()> = Result<T, CaseStop>;

impl From<CaseStop> for Verdict {
    fn from(stop: CaseStop) -> Self {
        match stop {
            CaseStop::Unsupported(reason) => Self::Unsupported(reason),
            CaseStop::Failed(reason) => Self::Failed(reason),
        }
    }
}

/// Fails with this message unless the condition is true.
pub(super) fn ensure(condition: bool, message: impl FnOnce() -> String) -> CheckResult {
    if condition {
        Ok(())
    } else {
        Err(CaseStop::Failed(message()))
    }
}
