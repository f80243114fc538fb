//! May it? What an agent asks before it acts, and who answers: a policy, rules, or a person.

mod rule;

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

pub use rule::{PermissionRule, Permissions};

use crate::{AgentEvent, PermissionKind, PermissionOption, PermissionPolicy, ToolKind};

/// What an agent asks, before it acts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PermissionRequest {
    /// The same as in the turn's [`PermissionRequest`](crate::AgentEvent::PermissionRequest).
    pub id: String,
    /// The agent's name.
    pub agent: String,
    /// The tool that wants to run.
    pub tool: String,
    /// What the tool does to the world, where that is known.
    pub kind: Option<ToolKind>,
    /// What the tool would touch, as [`seen_from`] the session's folder; none where that is not known.
    pub paths: Vec<PathBuf>,
    /// What the tool would be given.
    pub input: Value,
    /// The answers that the agent offers.
    pub options: Vec<PermissionOption>,
}

impl PermissionRequest {
    /// The option that means yes or no, rather for this time than for good.
    pub fn option_for(&self, allowed: bool) -> Option<&PermissionOption> {
        use PermissionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
        let wanted = match allowed {
            true => [AllowOnce, AllowAlways],
            false => [RejectOnce, RejectAlways],
        };
        let of = |kind| self.options.iter().find(move |option| option.kind == kind);
        wanted.into_iter().find_map(of)
    }

    /// Whether the option of this id is there, and means yes.
    pub fn is_allow_option(&self, id: &str) -> bool {
        let chosen = self.options.iter().find(|option| option.id == id);
        chosen.is_some_and(|option| {
            matches!(
                option.kind,
                PermissionKind::AllowOnce | PermissionKind::AllowAlways
            )
        })
    }

    /// The question, for whoever watches the turn.
    pub fn to_event(&self) -> AgentEvent {
        AgentEvent::PermissionRequest {
            id: self.id.clone(),
            tool: self.tool.clone(),
            input: self.input.clone(),
            options: self.options.clone(),
        }
    }
}

/// What is to be done about a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Say yes.
    Allow,
    /// Say no.
    Deny,
    /// Ask the session's approver; without one, say no.
    AskApprover,
}

/// Decides by the first rule that fits, else by the policy.
///
/// ```
/// use windlass_core::permission::{Decision, PermissionAsk, PermissionRule, decide};
/// use windlass_core::{PermissionPolicy, ToolKind};
///
/// let rules = [PermissionRule::of(PermissionPolicy::Allow).kind(ToolKind::Write).path("src")];
/// let mut ask = PermissionAsk { kind: Some(ToolKind::Write), ..PermissionAsk::default() };
/// ask.paths = vec!["src/lib.rs".into()];
/// assert_eq!(decide(PermissionPolicy::Ask, &rules, &ask), Decision::Allow);
/// ask.paths.push("Cargo.toml".into());
/// assert_eq!(decide(PermissionPolicy::Ask, &rules, &ask), Decision::AskPerson);
/// ```
pub fn decide(
    policy: PermissionPolicy,
    rules: &[PermissionRule],
    ask: &PermissionRequest,
) -> Decision {
    let rule = rules.iter().find(|rule| rule.applies_to(ask));
    match rule.map_or(policy, |rule| rule.answer) {
        PermissionPolicy::Allow => Decision::Allow,
        PermissionPolicy::Deny => Decision::Deny,
        PermissionPolicy::Ask => Decision::AskApprover,
    }
}

/// A path as rules see it: without `.` and `..`, and from this folder where it lies inside.
///
/// No file is looked at. What a link makes of a path is for the walls around the agent to stop.
pub fn rule_path(folder: &Path, path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = plain.pop(),
            other => plain.push(other),
        }
    }
    match plain.strip_prefix(folder) {
        Ok(inside) => inside.to_owned(),
        Err(_) => plain,
    }
}

/// Somebody who can be asked: a terminal, a row in a store, a test.
pub trait Approver: fmt::Debug + Send + Sync {
    /// The id of the chosen option; `None` where nobody will choose. Dropping the future withdraws the
    /// question, as a turn that ends meanwhile does.
    fn decide(&self, ask: PermissionRequest) -> BoxFuture<'_, Option<String>>;
}

/// The approver of a session, where it has one.
#[derive(Debug, Clone, Default)]
pub struct SessionApprover(pub Option<Arc<dyn Approver>>);

impl SessionApprover {
    /// What the approver says: the id of an option that was offered. `None`: nobody is there, or nobody chose.
    pub async fn ask(&self, ask: PermissionRequest) -> Option<String> {
        let approver = self.0.as_ref()?;
        let offered: Vec<String> = ask.options.iter().map(|option| option.id.clone()).collect();
        let chosen = approver.decide(ask).await?;
        offered.contains(&chosen).then_some(chosen)
    }
}

impl PartialEq for SessionApprover {
    /// The same somebody.
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(another)) => Arc::ptr_eq(one, another),
            (None, None) => true,
            _ => false,
        }
    }
}
