//! Whether an agent on the command line may: answered at once where that was said in advance, else by a person.

use std::path::{Path, PathBuf};

use windlass_core::permission::{Decision, decide, seen_from};
use windlass_core::{
    PermissionAsk, PermissionKind, PermissionOption, PermissionPolicy, PermissionRule, ToolKind,
};

use super::call::Call;

/// How many questions may wait for a person at once.
const WAITING: usize = 64;

/// The ids of the two answers that we offer in an agent's name.
const YES: &str = "allow";
const NO: &str = "deny";

/// What a session may do. Pure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gate {
    policy: PermissionPolicy,
    rules: Vec<PermissionRule>,
    cwd: PathBuf,
}

impl From<PermissionPolicy> for Gate {
    /// The policy, without exceptions.
    fn from(policy: PermissionPolicy) -> Self {
        Self {
            policy,
            ..Self::default()
        }
    }
}

impl From<&Call<'_>> for Gate {
    fn from(call: &Call<'_>) -> Self {
        Self {
            policy: call.permissions,
            rules: call.rules.to_vec(),
            cwd: call.cwd.to_owned(),
        }
    }
}

impl Gate {
    /// Whether everything is allowed, so that nothing need be asked.
    pub(super) fn is_open(call: &Call<'_>) -> bool {
        call.permissions == PermissionPolicy::Allow && call.rules.is_empty()
    }

    /// What is to be done about a question.
    pub(super) fn decide(&self, ask: &PermissionAsk) -> Decision {
        decide(self.policy, &self.rules, ask)
    }

    /// A path as rules see it.
    pub(super) fn seen(&self, path: &str) -> PathBuf {
        seen_from(&self.cwd, Path::new(path))
    }
}

/// A question of an agent that offers no words for its answers.
pub(super) fn ask(agent: &str, id: String, tool: &str, kind: Option<ToolKind>) -> PermissionAsk {
    let option = |id: &str, kind, label: &str| PermissionOption {
        id: id.to_owned(),
        kind,
        label: label.to_owned(),
    };
    PermissionAsk {
        id,
        agent: agent.to_owned(),
        tool: tool.to_owned(),
        kind,
        options: vec![
            option(YES, PermissionKind::AllowOnce, "allow"),
            option(NO, PermissionKind::RejectOnce, "do not allow"),
        ],
        ..PermissionAsk::default()
    }
}

/// The questions that wait for a person, each with what its answer is made of.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    questions: Vec<(String, T)>,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self {
            questions: Vec::new(),
        }
    }
}

impl<T> Waiting<T> {
    /// Keeps a question; gives back what has to be refused because too many wait.
    pub(super) fn put(&mut self, id: String, what: T) -> Option<T> {
        if self.questions.len() >= WAITING {
            return Some(what);
        }
        self.questions.push((id, what));
        None
    }

    /// Takes a question out, with whether the answer is a yes.
    pub(super) fn take(&mut self, id: &str, option: Option<&str>) -> Option<(T, bool)> {
        let at = self.questions.iter().position(|(known, _)| known == id)?;
        let (_, what) = self.questions.remove(at);
        Some((what, option == Some(YES)))
    }

    pub(super) fn clear(&mut self) {
        self.questions.clear();
    }
}
