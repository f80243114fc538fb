//! Permission requests of agents, and how they are answered: by a policy, by rules or by a person.

mod policy;
mod rule;

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

pub use policy::PermissionPolicy;
pub use rule::{PermissionRule, Permissions};

use crate::{AgentEvent, PermissionKind, PermissionOption, ToolKind};

/// A request for permission that an agent sends before it acts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PermissionRequest {
    /// The id from the turn's [`PermissionRequest`](crate::AgentEvent::PermissionRequest) event.
    pub id: String,
    /// The agent's name.
    pub agent: String,
    /// The tool that needs the permission.
    pub tool: String,
    /// The effect of the tool, if known.
    pub kind: Option<ToolKind>,
    /// The paths the tool would touch, each as returned by [`rule_path`]; empty if unknown.
    pub paths: Vec<PathBuf>,
    /// The input of the tool.
    pub input: Value,
    /// The options that the agent offers.
    pub options: Vec<PermissionOption>,
}

impl PermissionRequest {
    /// Returns the option that allows or rejects the request. Prefers once over always.
    pub fn option_for(&self, allowed: bool) -> Option<&PermissionOption> {
        use PermissionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
        let wanted = if allowed {
            [AllowOnce, AllowAlways]
        } else {
            [RejectOnce, RejectAlways]
        };
        let by_kind = |kind| self.options.iter().find(move |option| option.kind == kind);
        wanted.into_iter().find_map(by_kind)
    }

    /// Returns `true` if the option with this id exists and allows the request.
    pub fn is_allow_option(&self, id: &str) -> bool {
        let chosen = self.options.iter().find(|option| option.id == id);
        chosen.is_some_and(|option| {
            matches!(
                option.kind,
                PermissionKind::AllowOnce | PermissionKind::AllowAlways
            )
        })
    }

    /// Returns the request as an event of the turn.
    pub fn to_event(&self) -> AgentEvent {
        AgentEvent::PermissionRequest {
            id: self.id.clone(),
            tool: self.tool.clone(),
            input: self.input.clone(),
            options: self.options.clone(),
        }
    }
}

/// How a permission request is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Allow it.
    Allow,
    /// Deny it.
    Deny,
    /// Ask the session's approver. Without one, deny it.
    AskApprover,
}

/// Decides by the first rule that applies, otherwise by the policy.
///
/// ```
/// use windlass_core::permission::{Decision, PermissionRequest, PermissionRule, decide};
/// use windlass_core::{PermissionPolicy, ToolKind};
///
/// let rules = [PermissionRule::new(PermissionPolicy::Allow).kind(ToolKind::Write).path("src")];
/// let mut request = PermissionRequest { kind: Some(ToolKind::Write), ..PermissionRequest::default() };
/// request.paths = vec!["src/lib.rs".into()];
/// assert_eq!(decide(PermissionPolicy::Ask, &rules, &request), Decision::Allow);
/// request.paths.push("Cargo.toml".into());
/// assert_eq!(decide(PermissionPolicy::Ask, &rules, &request), Decision::AskApprover);
/// ```
pub fn decide(
    policy: PermissionPolicy,
    rules: &[PermissionRule],
    request: &PermissionRequest,
) -> Decision {
    let rule = rules.iter().find(|rule| rule.applies_to(request));
    match rule.map_or(policy, |rule| rule.answer) {
        PermissionPolicy::Allow => Decision::Allow,
        PermissionPolicy::Deny => Decision::Deny,
        PermissionPolicy::Ask => Decision::AskApprover,
    }
}

/// Returns a path in the form that rules use: without `.` and `..`, and relative to the directory if it
/// is inside.
///
/// No file is accessed. Symbolic links are not resolved here; the sandbox prevents access through them.
pub fn rule_path(dir: &Path, path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for part in dir.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = normalized.pop(),
            other => normalized.push(other),
        }
    }
    match normalized.strip_prefix(dir) {
        Ok(inside) => inside.to_owned(),
        Err(_) => normalized,
    }
}

/// Answers permission requests, e.g. on a terminal or through the store.
pub trait Approver: fmt::Debug + Send + Sync {
    /// Returns the id of the chosen option, or `None` if no decision will be made. Dropping the future
    /// withdraws the request, e.g. when the turn ends first.
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Option<String>>;
}

/// The approver of a session, where it has one.
#[derive(Debug, Clone, Default)]
pub struct SessionApprover(pub Option<Arc<dyn Approver>>);

impl SessionApprover {
    /// Asks the approver and returns the id of one of the offered options. Returns `None` if there is no
    /// approver or no decision.
    pub async fn ask(&self, request: PermissionRequest) -> Option<String> {
        let approver = self.0.as_ref()?;
        let offered: Vec<String> = request
            .options
            .iter()
            .map(|option| option.id.clone())
            .collect();
        let chosen = approver.decide(request).await?;
        offered.contains(&chosen).then_some(chosen)
    }
}

impl PartialEq for SessionApprover {
    /// Compares by identity.
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(another)) => Arc::ptr_eq(one, another),
            (None, None) => true,
            _ => false,
        }
    }
}
