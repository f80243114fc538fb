//! Checks whether a tool call is allowed, by policy or by an approver.

use std::path::Path;

use windlass_core::permission::{Approver, Decision, decide, rule_path};
use windlass_core::{
    AgentEvent, EventSink, PermissionKind, PermissionOption, PermissionPolicy, PermissionRequest,
    PermissionRule, Tool,
};

use super::session::ModelSession;
use super::tool_set::is_read_only;

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT_ONCE: &str = "reject_once";

/// The permission policy and rules of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct PermissionCheck<'a> {
    pub(super) agent: &'static str,
    pub(super) policy: PermissionPolicy,
    pub(super) rules: &'a [PermissionRule],
    pub(super) session: &'a ModelSession,
}

impl PermissionCheck<'_> {
    /// Checks one call. The error is the tool result that the model receives. A read-only tool needs no permission
    /// unless a rule applies to it.
    pub(super) async fn check(
        &self,
        id: &str,
        tool: &dyn Tool,
        input: &serde_json::Value,
        out: &EventSink,
    ) -> Result<(), String> {
        let name = &tool.spec().name;
        let request = self.request(id, tool, input);
        let has_rule = self.rules.iter().any(|rule| rule.applies_to(&request));
        // An earlier decision of the approver counts only as long as it could still decide.
        let is_allowed = self.policy == PermissionPolicy::Ask && self.session.is_allowed(name);
        if !has_rule && (is_read_only(tool) || is_allowed) {
            return Ok(());
        }
        match decide(self.policy, self.rules, &request) {
            Decision::Allow => Ok(()),
            Decision::AskApprover => self.ask_approver(request, out).await,
            Decision::Deny => Err(format!("{name} is not allowed: only read-only tools are")),
        }
    }

    fn request(&self, id: &str, tool: &dyn Tool, input: &serde_json::Value) -> PermissionRequest {
        let cwd = self
            .session
            .options
            .cwd
            .as_deref()
            .unwrap_or(Path::new("/"));
        PermissionRequest {
            id: id.to_owned(),
            agent: self.agent.to_owned(),
            tool: tool.spec().name.clone(),
            kind: Some(tool.spec().kind),
            paths: tool
                .paths(input)
                .iter()
                .map(|path| rule_path(cwd, Path::new(path)))
                .collect(),
            input: input.clone(),
            options: options(),
        }
    }

    async fn ask_approver(
        &self,
        request: PermissionRequest,
        out: &EventSink,
    ) -> Result<(), String> {
        let tool = request.tool.clone();
        out.send(AgentEvent::PermissionRequest {
            id: request.id.clone(),
            tool: tool.clone(),
            input: request.input.clone(),
            options: request.options.clone(),
        })
        .await;
        let approver: Option<&dyn Approver> = self.session.options.approver.0.as_deref();
        let Some(approver) = approver else {
            return Err(format!("{tool} was denied: no approver is available"));
        };
        match approver.decide(request).await.as_deref() {
            Some(ALLOW_ONCE) => Ok(()),
            Some(ALLOW_ALWAYS) => {
                self.session.allow(&tool);
                Ok(())
            }
            _ => Err(format!("{tool} was denied by the user")),
        }
    }
}

fn options() -> Vec<PermissionOption> {
    let option = |id: &str, kind, label: &str| PermissionOption {
        id: id.to_owned(),
        kind,
        label: label.to_owned(),
    };
    vec![
        option(ALLOW_ONCE, PermissionKind::AllowOnce, "Allow"),
        option(
            ALLOW_ALWAYS,
            PermissionKind::AllowAlways,
            "Allow for this session",
        ),
        option(REJECT_ONCE, PermissionKind::RejectOnce, "Reject"),
    ]
}
