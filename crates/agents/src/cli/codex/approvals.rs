//! Codex's requests during a turn, and the responses.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use windlass_core::permission::Decision;
use windlass_core::{PermissionRequest, ToolKind};

use super::messages::Params;
use crate::cli::Parsed;
use crate::cli::gate::{self, PendingQuestions, PermissionGate};

/// The pending requests of one thread.
#[derive(Debug, Default)]
pub(super) struct PendingApprovals {
    gate: PermissionGate,
    pending: PendingQuestions<PendingApproval>,
}

/// A request that waits for the approver.
#[derive(Debug)]
struct PendingApproval {
    id: Value,
    style: ApprovalStyle,
}

/// The format in which Codex expects the decision.
#[derive(Debug, Clone, Copy)]
enum ApprovalStyle {
    Accept,
    Approved,
    /// For an MCP server's request to run its tool.
    Action,
}

impl ApprovalStyle {
    fn response_for(self, allowed: bool) -> Value {
        match (self, allowed) {
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
            pending: PendingQuestions::default(),
        }
    }

    /// Answers a request, or passes it to the approver. Every request gets a response: Codex would wait
    /// forever.
    pub(super) fn on_request(
        &mut self,
        method: &str,
        id: Value,
        params: Params<'_>,
        changed_paths: &[PathBuf],
    ) -> Parsed {
        let style = match method {
            "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
                ApprovalStyle::Accept
            }
            "execCommandApproval" | "applyPatchApproval" => ApprovalStyle::Approved,
            "mcpServer/elicitation/request" if is_about_a_tool(&params) => ApprovalStyle::Action,
            // Permissions beyond the session's are never granted: the user agreed only to the session's.
            "item/permissions/requestApproval" => return result(&id, json!({ "permissions": {} })),
            // An MCP server may ask for anything; only whether its tool may run is decided here.
            "mcpServer/elicitation/request" => return result(&id, json!({ "action": "decline" })),
            "item/tool/requestUserInput" => return result(&id, json!({ "answers": {} })),
            _ => {
                let error =
                    json!({ "code": -32601, "message": format!("{method} is not supported") });
                return Parsed::reply(json!({ "id": id, "error": error }).to_string());
            }
        };
        let request = self.permission_request(method, &id, params, changed_paths);
        match self.gate.decide(&request) {
            Decision::Allow => result(&id, style.response_for(true)),
            Decision::Deny => result(&id, style.response_for(false)),
            Decision::AskApprover => {
                let approval = PendingApproval { id, style };
                match self.pending.insert(request.id.clone(), approval) {
                    Some(approval) => result(&approval.id, approval.style.response_for(false)),
                    None => Parsed::permission(request),
                }
            }
        }
    }

    /// Returns the response to the request of this ID.
    pub(super) fn answer(&mut self, id: &str, option: Option<&str>) -> Vec<String> {
        let answered = self.pending.take(id, option);
        let line = |(approval, allowed): (PendingApproval, bool)| {
            result(&approval.id, approval.style.response_for(allowed)).replies
        };
        answered.map(line).unwrap_or_default()
    }

    /// Clears the requests of an earlier turn when a new one starts.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
    }

    fn permission_request(
        &self,
        method: &str,
        id: &Value,
        params: Params<'_>,
        changed_paths: &[PathBuf],
    ) -> PermissionRequest {
        let is_patch = method.contains("fileChange") || method == "applyPatchApproval";
        let (tool, kind) = match method {
            "mcpServer/elicitation/request" => ("mcp", None),
            _ if is_patch => ("apply_patch", Some(ToolKind::Write)),
            _ => ("shell", Some(ToolKind::Execute)),
        };
        let rule_path = |path: &PathBuf| self.gate.rule_path(&path.to_string_lossy());
        let paths: Vec<PathBuf> = changed_paths
            .iter()
            .filter(|_| is_patch)
            .map(rule_path)
            .collect();
        let mut input = Map::new();
        if is_patch {
            input.insert("paths".to_owned(), json!(paths));
        }
        for (name, value) in [
            ("command", params.command),
            ("reason", params.reason),
            ("item", params.item_id),
        ] {
            if let Some(value) = value {
                input.insert(name.to_owned(), value.into());
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
