//! Whether a tool may act: the policy's word, or a person's.

use std::path::Path;

use windlass_core::permission::{Approver, Decision, decide, rule_path};
use windlass_core::{
    AgentEvent, PermissionKind, PermissionOption, PermissionPolicy, PermissionRequest,
    PermissionRule, Tool,
};

use super::session::ModelSession;
use super::tool_set::is_read_only;
use super::turn::EventSink;

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT_ONCE: &str = "reject_once";

/// Who is asked, and for which agent.
#[derive(Debug, Clone, Copy)]
pub(super) struct PermissionCheck<'a> {
    pub(super) agent: &'static str,
    pub(super) policy: PermissionPolicy,
    pub(super) rules: &'a [PermissionRule],
    pub(super) session: &'a ModelSession,
}

impl PermissionCheck<'_> {
    /// Whether this call may be made; the error is what the model is told. A tool that only looks needs no consent.
    pub(super) async fn check(
        &self,
        id: &str,
        tool: &dyn Tool,
        input: &serde_json::Value,
        out: &EventSink,
    ) -> Result<(), String> {
        let name = &tool.spec().name;
        let ask = self.question(id, tool, input);
        let is_ruled = self.rules.iter().any(|rule| rule.applies_to(&ask));
        if !is_ruled && (is_read_only(tool) || self.session.is_allowed(name)) {
            return Ok(());
        }
        match decide(self.policy, self.rules, &ask) {
            Decision::Allow => Ok(()),
            Decision::AskApprover => self.ask_approver(ask, out).await,
            Decision::Deny => Err(format!(
                "{name} is not allowed here: only tools that look are"
            )),
        }
    }

    fn question(&self, id: &str, tool: &dyn Tool, input: &serde_json::Value) -> PermissionRequest {
        let folder = self
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
                .map(|path| rule_path(folder, Path::new(path)))
                .collect(),
            input: input.clone(),
            options: options(),
        }
    }

    async fn ask_approver(&self, ask: PermissionRequest, out: &EventSink) -> Result<(), String> {
        let tool = ask.tool.clone();
        out.send(AgentEvent::PermissionRequest {
            id: ask.id.clone(),
            tool: tool.clone(),
            input: ask.input.clone(),
            options: ask.options.clone(),
        })
        .await;
        let approver: Option<&dyn Approver> = self.session.options.approver.0.as_deref();
        let Some(approver) = approver else {
            return Err(format!(
                "{tool} was not allowed: nobody is there to be asked"
            ));
        };
        match approver.decide(ask).await.as_deref() {
            Some(ONCE) => Ok(()),
            Some(ALWAYS) => {
                self.session.allow(&tool);
                Ok(())
            }
            _ => Err(format!("{tool} was not allowed by the user")),
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
