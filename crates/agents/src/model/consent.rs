//! Whether a tool may act: the policy's word, or a person's.

use std::path::Path;

use windlass_core::permission::{Approver, Decision, decide, seen_from};
use windlass_core::{
    AgentEvent, PermissionAsk, PermissionKind, PermissionOption, PermissionPolicy, PermissionRule,
    Tool,
};

use super::kit::only_looks;
use super::session::Session;
use super::turn::Outbox;

const ONCE: &str = "allow_once";
const ALWAYS: &str = "allow_always";
const REJECT: &str = "reject_once";

/// Who is asked, and for which agent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Consent<'a> {
    pub(super) agent: &'static str,
    pub(super) policy: PermissionPolicy,
    pub(super) rules: &'a [PermissionRule],
    pub(super) session: &'a Session,
}

impl Consent<'_> {
    /// Whether this call may be made; the error is what the model is told. A tool that only looks needs no consent.
    pub(super) async fn to(
        &self,
        id: &str,
        tool: &dyn Tool,
        input: &serde_json::Value,
        out: &Outbox,
    ) -> Result<(), String> {
        let name = &tool.spec().name;
        let ask = self.question(id, tool, input);
        let is_ruled = self.rules.iter().any(|rule| rule.fits(&ask));
        if !is_ruled && (only_looks(tool) || self.session.is_allowed(name)) {
            return Ok(());
        }
        match decide(self.policy, self.rules, &ask) {
            Decision::Allow => Ok(()),
            Decision::AskPerson => self.asked(ask, out).await,
            Decision::Deny => Err(format!(
                "{name} is not allowed here: only tools that look are"
            )),
        }
    }

    fn question(&self, id: &str, tool: &dyn Tool, input: &serde_json::Value) -> PermissionAsk {
        let folder = self
            .session
            .options
            .cwd
            .as_deref()
            .unwrap_or(Path::new("/"));
        PermissionAsk {
            id: id.to_owned(),
            agent: self.agent.to_owned(),
            tool: tool.spec().name.clone(),
            kind: Some(tool.spec().kind),
            paths: tool
                .paths(input)
                .iter()
                .map(|path| seen_from(folder, Path::new(path)))
                .collect(),
            input: input.clone(),
            options: options(),
        }
    }

    async fn asked(&self, ask: PermissionAsk, out: &Outbox) -> Result<(), String> {
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
        option(ONCE, PermissionKind::AllowOnce, "Allow"),
        option(
            ALWAYS,
            PermissionKind::AllowAlways,
            "Allow for this session",
        ),
        option(REJECT, PermissionKind::RejectOnce, "Reject"),
    ]
}
