//! The interface of an agent backend and the inputs it receives.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use futures::Stream;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::permission::{PermissionPolicy, PermissionRule, Permissions, SessionApprover};
use crate::{
    AgentEvent, DirAccess, EditMode, Error, McpServer, Prompt, Result, SessionId, ToolKind,
    WorkLabel,
};

/// An implementation of an agent.
///
/// A backend may misbehave: it may panic, hang, end without a terminal event or send two. The
/// [`AgentHandle`](crate::AgentHandle) around it still emits a well-formed turn. A backend that is not
/// `Send` implements [`LocalBackend`](crate::LocalBackend) instead.
pub trait AgentBackend: Send + Sync {
    /// Returns a short name for logs and messages.
    fn name(&self) -> &'static str;

    /// Returns what the agent supports.
    fn capabilities(&self) -> Capabilities;

    /// Returns how the agent changes files best, with this model if the caller chose one.
    ///
    /// By default it uses its own tools.
    fn edit_mode(&self, _model: Option<&str>) -> EditMode {
        EditMode::Tools
    }

    /// Returns `true` if another agent can go on after a turn that failed.
    ///
    /// By default there is no other.
    fn has_alternative(&self) -> bool {
        false
    }

    /// Returns how many tokens a prompt and its answer may have together, with this model if the caller chose one.
    ///
    /// By default that is unknown.
    fn context_window<'a>(&'a self, _model: Option<&'a str>) -> BoxFuture<'a, Option<u64>> {
        Box::pin(async { None })
    }

    /// Starts a session.
    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>>;

    /// Resumes an earlier session.
    ///
    /// By default the backend cannot resume sessions.
    fn load_session<'a>(
        &'a self,
        _id: &'a SessionId,
        _options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Err(Error::unsupported(self.name(), "resume a session")) })
    }

    /// Starts a turn. The stream ends with the turn. Dropping the stream stops the turn immediately.
    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>>;

    /// Asks the agent to stop the running turn. The turn's stream then ends.
    ///
    /// By default the backend cannot, and the handle drops the stream immediately.
    fn cancel<'a>(&'a self, _id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Err(Error::unsupported(self.name(), "stop a turn")) })
    }

    /// Returns the same agent for one job, with its own sessions and processes.
    ///
    /// By default the agent has no processes, and all work shares it.
    fn scoped(&self) -> Option<Arc<dyn AgentBackend>> {
        None
    }

    /// Ends all processes of the agent, and returns when they are gone. No session can be used afterwards.
    ///
    /// By default the agent has no processes. A backend that implements this implements [`Self::scoped`] too.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

impl<T: AgentBackend + ?Sized> AgentBackend for Arc<T> {
    fn name(&self) -> &'static str {
        T::name(self)
    }

    fn capabilities(&self) -> Capabilities {
        T::capabilities(self)
    }

    fn edit_mode(&self, model: Option<&str>) -> EditMode {
        T::edit_mode(self, model)
    }

    fn has_alternative(&self) -> bool {
        T::has_alternative(self)
    }

    fn context_window<'a>(&'a self, model: Option<&'a str>) -> BoxFuture<'a, Option<u64>> {
        T::context_window(self, model)
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        T::new_session(self, options)
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        T::load_session(self, id, options)
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        T::prompt(self, id, prompt)
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        T::cancel(self, id)
    }

    fn scoped(&self) -> Option<Arc<dyn AgentBackend>> {
        T::scoped(self)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        T::close(self)
    }
}

/// An event sent by a backend, with the output line it was parsed from, if any.
#[derive(Debug, Clone, PartialEq)]
pub struct BackendEvent {
    /// What happened.
    pub event: AgentEvent,
    /// The agent's own output line.
    pub raw: Option<String>,
}

impl From<AgentEvent> for BackendEvent {
    fn from(event: AgentEvent) -> Self {
        Self { event, raw: None }
    }
}

/// The events of one turn. [`event_stream`](crate::event_stream) creates one from a future that sends events.
pub type EventStream = Pin<Box<dyn Stream<Item = BackendEvent> + Send>>;

/// Creates a stream from events that are already known.
pub fn ready_events(
    events: impl IntoIterator<Item = AgentEvent, IntoIter: Send + 'static>,
) -> EventStream {
    Box::pin(futures::stream::iter(
        events.into_iter().map(BackendEvent::from),
    ))
}

/// What an agent supports, as one value, so that a caller can check it before a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// The answer is streamed in chunks.
    pub streaming: bool,
    /// An earlier session can be resumed.
    pub load_session: bool,
    /// The agent has its own tools and reports their calls.
    pub tools: bool,
    /// The agent asks for permission before it acts, and accepts a decision.
    pub permissions: bool,
    /// The agent enforces an output schema itself.
    pub native_schema: bool,
    /// The agent connects to the session's MCP servers.
    pub mcp: bool,
    /// The model can be chosen per session.
    pub model_choice: bool,
    /// The result contains token counts.
    pub usage: bool,
    /// The result contains the cost.
    pub cost: bool,
}

impl Capabilities {
    /// Returns the names of the supported capabilities, in a fixed order.
    pub fn names(&self) -> Vec<&'static str> {
        [
            (self.streaming, "streaming"),
            (self.load_session, "load_session"),
            (self.tools, "tools"),
            (self.permissions, "permissions"),
            (self.native_schema, "native_schema"),
            (self.mcp, "mcp"),
            (self.model_choice, "model_choice"),
            (self.usage, "usage"),
            (self.cost, "cost"),
        ]
        .into_iter()
        .filter_map(|(supported, name)| supported.then_some(name))
        .collect()
    }
}

/// The options of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionOptions {
    /// The agent's working directory. `None` selects the backend's default.
    pub cwd: Option<PathBuf>,
    /// The model to use, in the agent's own notation.
    pub model: Option<String>,
    /// MCP servers for the agent to connect to.
    pub mcp_servers: Vec<McpServer>,
    /// What the agent may do without asking.
    pub permissions: PermissionPolicy,
    /// Exceptions from `permissions`. The first rule that applies decides.
    pub permission_rules: Vec<PermissionRule>,
    /// What the agent may change in its working directory, regardless of its configured permissions.
    pub access: DirAccess,
    /// Paths outside the working directory that the agent must be able to read.
    pub readable: Vec<PathBuf>,
    /// Answers permission requests when the policy is to ask.
    pub approver: SessionApprover,
    /// The JSON schema that the answers must match.
    pub output_schema: Option<Value>,
    /// Whether the session is for one prompt only. If so, no process waits for a second prompt.
    pub once: bool,
    /// Whether a model gets no tools, so that its first answer ends the turn. An agent with its own tools ignores it.
    pub without_tools: bool,
    /// The work that the session belongs to.
    pub work: WorkLabel,
}

impl SessionOptions {
    /// Creates options for work in the given directory.
    pub fn in_dir(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: Some(cwd.into()),
            ..Self::default()
        }
    }

    /// Returns the policy and the rules in effect. The user's setting for the agent has precedence over the
    /// caller's, and read-only access has precedence over both.
    pub fn effective_permissions<'a>(
        &'a self,
        configured: Option<&'a Permissions>,
    ) -> (PermissionPolicy, &'a [PermissionRule]) {
        match configured {
            _ if self.access == DirAccess::ReadOnly => (PermissionPolicy::Deny, &[]),
            Some(configured) => (configured.default, &configured.rules),
            None => (self.permissions, &self.permission_rules),
        }
    }

    /// Returns what the agent may change. If the permissions in effect allow no write, and no approver could allow
    /// one, that is nothing.
    pub fn effective_access(&self, configured: Option<&Permissions>) -> DirAccess {
        let (policy, rules) = self.effective_permissions(configured);
        let may_allow = |answer| match answer {
            PermissionPolicy::Allow => true,
            PermissionPolicy::Deny => false,
            PermissionPolicy::Ask => self.approver.0.is_some(),
        };
        let is_for_writes = |rule: &&PermissionRule| rule.kind != Some(ToolKind::Read);
        let mut answers = rules.iter().filter(is_for_writes).map(|rule| rule.answer);
        if may_allow(policy) || answers.any(may_allow) {
            self.access
        } else {
            DirAccess::ReadOnly
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_permissions_override_the_callers_and_read_only_overrides_both() {
        let configured = Permissions {
            default: PermissionPolicy::Allow,
            rules: vec![PermissionRule::new(PermissionPolicy::Deny)],
        };
        let mut options = SessionOptions {
            permissions: PermissionPolicy::Ask,
            ..SessionOptions::default()
        };
        assert_eq!(
            options.effective_permissions(None),
            (PermissionPolicy::Ask, &[][..])
        );
        assert_eq!(
            options.effective_permissions(Some(&configured)),
            (configured.default, &configured.rules[..])
        );
        options.access = DirAccess::ReadOnly;
        for configured in [None, Some(&configured)] {
            assert_eq!(
                options.effective_permissions(configured),
                (PermissionPolicy::Deny, &[][..])
            );
        }
    }

    #[test]
    fn directory_is_read_only_unless_a_write_can_be_allowed() {
        use PermissionPolicy::{Allow, Ask, Deny};
        let rule = PermissionRule::new;
        let approver = SessionApprover(Some(std::sync::Arc::new(NoDecision)));
        let none = SessionApprover::default();
        for (policy, rules, approver, access) in [
            (Allow, vec![], &none, DirAccess::Files),
            (Deny, vec![], &none, DirAccess::ReadOnly),
            (Deny, vec![], &approver, DirAccess::ReadOnly),
            (Ask, vec![], &approver, DirAccess::Files),
            (Ask, vec![], &none, DirAccess::ReadOnly),
            (
                Deny,
                vec![rule(Allow).kind(ToolKind::Read)],
                &none,
                DirAccess::ReadOnly,
            ),
            (
                Deny,
                vec![rule(Allow).kind(ToolKind::Write)],
                &none,
                DirAccess::Files,
            ),
            (
                Deny,
                vec![rule(Allow).tool("deploy")],
                &none,
                DirAccess::Files,
            ),
            (
                Deny,
                vec![rule(Ask).kind(ToolKind::Execute)],
                &none,
                DirAccess::ReadOnly,
            ),
            (
                Deny,
                vec![rule(Ask).kind(ToolKind::Execute)],
                &approver,
                DirAccess::Files,
            ),
        ] {
            let configured = Permissions {
                default: policy,
                rules,
            };
            let options = SessionOptions {
                approver: approver.clone(),
                ..SessionOptions::default()
            };
            let case = format!("{configured:?} {approver:?}");
            assert_eq!(
                options.effective_access(Some(&configured)),
                access,
                "{case}"
            );
            let read_only = SessionOptions {
                access: DirAccess::ReadOnly,
                ..options
            };
            let access = read_only.effective_access(Some(&configured));
            assert_eq!(access, DirAccess::ReadOnly, "{case}");
        }
    }

    #[derive(Debug)]
    struct NoDecision;

    impl crate::Approver for NoDecision {
        fn decide(&self, _: crate::PermissionRequest) -> BoxFuture<'_, Option<String>> {
            Box::pin(async { None })
        }
    }
}
