//! Whether an agent on the command line may: answered at once where that was said in advance, else by a person.

use std::path::{Path, PathBuf};

use windlass_core::permission::{Decision, decide, rule_path};
use windlass_core::{
    PermissionKind, PermissionOption, PermissionPolicy, PermissionRequest, PermissionRule, ToolKind,
};

use super::run_context::RunContext;

/// How many questions may wait for a person at once.
const MAX_PENDING: usize = 64;

/// The ids of the two answers that we offer in an agent's name.
const ALLOW_ID: &str = "allow";
const DENY_ID: &str = "deny";

/// What a session may do. Pure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionGate {
    policy: PermissionPolicy,
    rules: Vec<PermissionRule>,
    cwd: PathBuf,
}

impl From<PermissionPolicy> for PermissionGate {
    /// The policy, without exceptions.
    fn from(policy: PermissionPolicy) -> Self {
        Self {
            policy,
            ..Self::default()
        }
    }
}

impl From<&RunContext<'_>> for PermissionGate {
    fn from(call: &RunContext<'_>) -> Self {
        Self {
            policy: call.permissions,
            rules: call.rules.to_vec(),
            cwd: call.cwd.to_owned(),
        }
    }
}

impl PermissionGate {
    /// Whether everything is allowed, so that nothing need be asked.
    pub(super) fn allows_everything(call: &RunContext<'_>) -> bool {
        call.permissions == PermissionPolicy::Allow && call.rules.is_empty()
    }

    /// What is to be done about a question.
    pub(super) fn decide(&self, ask: &PermissionRequest) -> Decision {
        decide(self.policy, &self.rules, ask)
    }

    /// A path as rules see it.
    pub(super) fn rule_path(&self, path: &str) -> PathBuf {
        rule_path(&self.cwd, Path::new(path))
    }
}

/// A question of an agent that offers no words for its answers.
pub(super) fn permission_request(
    agent: &str,
    id: String,
    tool: &str,
    kind: Option<ToolKind>,
) -> PermissionRequest {
    let option = |id: &str, kind, label: &str| PermissionOption {
        id: id.to_owned(),
        kind,
        label: label.to_owned(),
    };
    PermissionRequest {
        id,
        agent: agent.to_owned(),
        tool: tool.to_owned(),
        kind,
        options: vec![
            option(ALLOW_ID, PermissionKind::AllowOnce, "allow"),
            option(DENY_ID, PermissionKind::RejectOnce, "do not allow"),
        ],
        ..PermissionRequest::default()
    }
}

/// The questions that wait for a person, each with what its answer is made of.
#[derive(Debug)]
pub(super) struct PendingQuestions<T> {
    questions: Vec<(String, T)>,
}

impl<T> Default for PendingQuestions<T> {
    fn default() -> Self {
        Self {
            questions: Vec::new(),
        }
    }
}

impl<T> PendingQuestions<T> {
    /// Keeps a question; gives back what has to be refused because too many wait.
    pub(super) fn insert(&mut self, id: String, what: T) -> Option<T> {
        if self.questions.len() >= MAX_PENDING {
            return Some(what);
        }
        self.questions.push((id, what));
        None
    }

    /// Takes a question out, with whether the answer is a yes.
    pub(super) fn take(&mut self, id: &str, option: Option<&str>) -> Option<(T, bool)> {
        let at = self.questions.iter().position(|(known, _)| known == id)?;
        let (_, what) = self.questions.remove(at);
        Some((what, option == Some(ALLOW_ID)))
    }

    pub(super) fn clear(&mut self) {
        self.questions.clear();
    }
}
