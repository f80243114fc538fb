//! A case: what is staged, and what is looked at.

use futures::future::BoxFuture;

use super::{CaseRunner, CaseScript, ScriptedTurn, Verdict};

/// One thing that a backend must do right.
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

/// Why a case stops before its end.
#[derive(Debug)]
pub(super) enum CaseStop {
    /// The backend cannot do it and says so.
    Unsupported(String),
    /// The backend does it wrong.
    Failed(String),
}

/// What comes of looking at something.
pub(super) type CheckResult<T = ()> = Result<T, CaseStop>;

impl From<CaseStop> for Verdict {
    fn from(stop: CaseStop) -> Self {
        match stop {
            CaseStop::Unsupported(why) => Self::Unsupported(why),
            CaseStop::Failed(how) => Self::Failed(how),
        }
    }
}

/// Fails with the sentence unless the condition holds.
pub(super) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> CheckResult {
    if holds {
        Ok(())
    } else {
        Err(CaseStop::Failed(otherwise()))
    }
}
