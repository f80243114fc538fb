//! A conformance case: the script of its agent, and the check.

use futures::future::BoxFuture;

use super::check::CheckResult;
use super::{CaseRunner, CaseScript, ScriptedTurn};

/// One behavior that a backend must have.
pub(super) struct Case {
    pub(super) group: &'static str,
    pub(super) name: &'static str,
    pub(super) turns: Vec<ScriptedTurn>,
    pub(super) check: for<'a> fn(&'a CaseRunner) -> BoxFuture<'a, CheckResult>,
}

impl Case {
    pub(super) fn script(&self) -> CaseScript {
        CaseScript {
            case: format!("{}: {}", self.group, self.name),
            turns: self.turns.clone(),
        }
    }
}
