//! Permission decisions for command-line agents: by policy and rules where they apply, otherwise by the
//! approver.

use std::path::{Path, PathBuf};

use windlass_core::permission::{Decision, decide, rule_path};
use windlass_core::{
    PermissionKind, PermissionOption, PermissionPolicy, PermissionRequest, PermissionRule, ToolKind,
};

use super::run_context::RunContext;

/// Maximum number of permission requests that wait for the approver.
const MAX_PENDING: usize = 64;

/// The IDs of the two options that are offered for an agent that has no options.
const ALLOW_ID: &str = "allow";
const DENY_ID: &str = "deny";

/// The permissions of a session. Pure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionGate {
    policy: PermissionPolicy,
    rules: Vec<PermissionRule>,
    cwd: PathBuf,
}

impl From<PermissionPolicy> for PermissionGate {
    /// Creates a gate with this policy and no exceptions.
    fn from(policy: PermissionPolicy) -> Self {
        Self {
            policy,
            ..Self::default()
        }
    }
}

impl From<&RunContext<'_>> for PermissionGate {
    fn from(run: &RunContext<'_>) -> Self {
        Self {
            policy: run.permissions,
            rules: run.rules.to_vec(),
            cwd: run.cwd.to_owned(),
        }
    }
}

impl PermissionGate {
    /// Returns `true` if everything is allowed, so that the agent need not ask.
    pub(super) fn allows_everything(run: &RunContext<'_>) -> bool {
        run.permissions == PermissionPolicy::Allow && run.rules.is_empty()
    }

    /// Decides a permission request.
    pub(super) fn decide(&self, request: &PermissionRequest) -> Decision {
        decide(self.policy, &self.rules, request)
    }

    /// Returns a path in the form that rules match.
    pub(super) fn rule_path(&self, path: &str) -> PathBuf {
        rule_path(&self.cwd, Path::new(path))
    }
}

/// Creates a permission request for an agent that does not provide options.
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
            option(DENY_ID, PermissionKind::RejectOnce, "deny"),
        ],
        ..PermissionRequest::default()
    }
}

/// The permission requests that wait for the approver, each with the data that its response needs.
#[derive(Debug)]
pub(super) struct PendingQuestions<T> {
    pending: Vec<(String, T)>,
}

impl<T> Default for PendingQuestions<T> {
    fn default() -> Self {
        Self {
            pending: Vec::new(),
        }
    }
}

impl<T> PendingQuestions<T> {
    /// Stores a request. Returns the data of a request that must be denied because too many are pending.
    pub(super) fn insert(&mut self, id: String, data: T) -> Option<T> {
        if self.pending.len() >= MAX_PENDING {
            return Some(data);
        }
        self.pending.push((id, data));
        None
    }

    /// Removes a request. Returns its data, and `true` if it was allowed.
    pub(super) fn take(&mut self, id: &str, option: Option<&str>) -> Option<(T, bool)> {
        let index = self.pending.iter().position(|(known, _)| known == id)?;
        let (_, data) = self.pending.remove(index);
        Some((data, option == Some(ALLOW_ID)))
    }

    pub(super) fn clear(&mut self) {
        self.pending.clear();
    }
}
