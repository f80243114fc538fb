//! A conformance case: the script of its agent, and the check.

use futures::future::BoxFuture;

use super::{CaseRunner, CaseScript, ScriptedTurn, Verdict};

/// One behavior that a backend must have.
pub(super) struct Case {
    pub(super) group: &'static str,
    pub(super) name: &'static str,
    pub(super) scenes: Vec<ScriptedTurn>,
    pub(super) check: for<'a> fn(&'a CaseRunner) -> BoxFuture<'a, CheckResult>,
}

impl Case {
    pub(super) fn script(&self) -> CaseScript {
        CaseScript {
            case: format!("{}: {}", self.group, self.name),
            scenes: self.scenes.clone(),
        }
    }
}

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
