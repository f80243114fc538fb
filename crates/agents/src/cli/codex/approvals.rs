//! What Codex asks of us while it works, and our answers.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use windlass_core::permission::Decision;
use windlass_core::{PermissionRequest, ToolKind};

use super::messages::Params;
use crate::cli::Parsed;
use crate::cli::gate::{self, PendingQuestions, PermissionGate};

/// The questions of one thread.
#[derive(Debug, Default)]
pub(super) struct PendingApprovals {
    gate: PermissionGate,
    waiting: PendingQuestions<PendingApproval>,
}

/// A question that waits for a person.
#[derive(Debug)]
struct PendingApproval {
    id: Value,
    answers: ApprovalStyle,
}

/// How Codex wants yes and no to be said.
#[derive(Debug, Clone, Copy)]
enum ApprovalStyle {
    Accept,
    Approved,
    /// A server's question whether its tool may run.
    Action,
}

impl ApprovalStyle {
    fn response_for(self, yes: bool) -> Value {
        match (self, yes) {
            (Self::Accept, true) => json!({ "decision": "accept" }),
            (Self::Accept, false) => json!({ "decision": "decline" }),
            (Self::Approved, true) => json!({ "decision": "approved" }),
            (Self::Approved, false) => json!({ "decision": "denied" }),
            (Self::Action, true) => json!({ "action": "accept", "content": {} }),
            (Self::Action, false) => json!({ "action": "decline" }),
        }
    }
}

impl PendingApprovals {
    pub(super) fn new(gate: PermissionGate) -> Self {
        Self {
            gate,
            waiting: PendingQuestions::default(),
        }
    }

    /// Answers a request, or has a person answer it. Nothing is left unanswered: Codex would wait for ever.
    pub(super) fn on_request(
        &mut self,
        method: &str,
        id: Value,
        params: Params<'_>,
        changed: &[PathBuf],
    ) -> Parsed {
        let answers = match method {
            "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
                ApprovalStyle::Accept
            }
            "execCommandApproval" | "applyPatchApproval" => ApprovalStyle::Approved,
            "mcpServer/elicitation/request" if is_about_a_tool(&params) => ApprovalStyle::Action,
            // Wider permissions than the session has are never granted: the session's are all that was agreed on.
            "item/permissions/requestApproval" => return result(&id, json!({ "permissions": {} })),
            // A server may ask for anything; only whether its tool may run is ours to say.
            "mcpServer/elicitation/request" => return result(&id, json!({ "action": "decline" })),
            "item/tool/requestUserInput" => return result(&id, json!({ "answers": {} })),
            _ => {
                let error =
                    json!({ "code": -32601, "message": format!("{method} is not supported") });
                return Parsed::reply(json!({ "id": id, "error": error }).to_string());
            }
        };
        let ask = self.question(method, &id, params, changed);
        match self.gate.decide(&ask) {
            Decision::Allow => result(&id, answers.response_for(true)),
            Decision::Deny => result(&id, answers.response_for(false)),
            Decision::AskApprover => {
                let open = PendingApproval { id, answers };
                match self.waiting.insert(ask.id.clone(), open) {
                    Some(open) => result(&open.id, open.answers.response_for(false)),
                    None => Parsed::permission(ask),
                }
            }
        }
    }

    /// What a person said to the question of this id.
    pub(super) fn answer(&mut self, id: &str, option: Option<&str>) -> Vec<String> {
        let answered = self.waiting.take(id, option);
        let line = |(open, yes): (PendingApproval, bool)| {
            result(&open.id, open.answers.response_for(yes)).replies
        };
        answered.map(line).unwrap_or_default()
    }

    /// A new turn begins; what an earlier one asked is over.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    fn question(
        &self,
        method: &str,
        id: &Value,
        params: Params<'_>,
        changed: &[PathBuf],
    ) -> PermissionRequest {
        let is_patch = method.contains("fileChange") || method == "applyPatchApproval";
        let (tool, kind) = match method {
            "mcpServer/elicitation/request" => ("mcp", None),
            _ if is_patch => ("apply_patch", Some(ToolKind::Write)),
            _ => ("shell", Some(ToolKind::Execute)),
        };
        let seen = |path: &PathBuf| self.gate.rule_path(&path.to_string_lossy());
        let paths: Vec<PathBuf> = changed.iter().filter(|_| is_patch).map(seen).collect();
        let mut input = Map::new();
        if is_patch {
            input.insert("paths".to_owned(), json!(paths));
        }
        for (name, said) in [
            ("command", params.command),
            ("reason", params.reason),
            ("item", params.item_id),
        ] {
            if let Some(said) = said {
                input.insert(name.to_owned(), said.into());
            }
        }
        PermissionRequest {
            paths,
            input: input.into(),
            ..gate::permission_request("codex", id.to_string(), tool, kind)
        }
    }
}

fn result(id: &Value, result: Value) -> Parsed {
    Parsed::reply(json!({ "id": id, "result": result }).to_string())
}

fn is_about_a_tool(params: &Params<'_>) -> bool {
    let kind = params
        .meta
        .as_ref()
        .and_then(|meta| meta.codex_approval_kind.as_deref());
    kind == Some("mcp_tool_call")
}
