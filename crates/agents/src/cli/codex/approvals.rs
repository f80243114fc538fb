//! What Codex asks of us while it works, and our answers.

use serde_json::{Value, json};
use windlass_core::{AgentEvent, PermissionKind, PermissionOption, PermissionPolicy};

use super::messages::Params;
use crate::cli::Heard;

/// Answers a request. Nothing is left unanswered: Codex would wait for ever.
pub(super) fn answer(
    policy: PermissionPolicy,
    method: &str,
    id: &Value,
    params: Params<'_>,
) -> Heard {
    let allowed = policy == PermissionPolicy::Allow;
    let result = match method {
        "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
            json!({ "decision": if allowed { "accept" } else { "decline" } })
        }
        "execCommandApproval" | "applyPatchApproval" => {
            json!({ "decision": if allowed { "approved" } else { "denied" } })
        }
        // Wider permissions than the session has are never granted: the session's are all that was agreed on.
        "item/permissions/requestApproval" => json!({ "permissions": {} }),
        // A server may ask for anything; only whether its tool may run is ours to say.
        "mcpServer/elicitation/request" if allowed && is_about_a_tool(&params) => {
            json!({ "action": "accept", "content": {} })
        }
        "mcpServer/elicitation/request" => json!({ "action": "decline" }),
        "item/tool/requestUserInput" => json!({ "answers": {} }),
        _ => {
            let error = json!({ "code": -32601, "message": format!("{method} is not supported") });
            return Heard::reply(json!({ "id": id, "error": error }).to_string());
        }
    };
    let mut heard = Heard::reply(json!({ "id": id, "result": result }).to_string());
    if policy == PermissionPolicy::Ask {
        heard.events.push(request(method, id, params));
    }
    heard
}

fn is_about_a_tool(params: &Params<'_>) -> bool {
    let kind = params
        .meta
        .as_ref()
        .and_then(|meta| meta.codex_approval_kind.as_deref());
    kind == Some("mcp_tool_call")
}

/// The question, for whoever watches.
fn request(method: &str, id: &Value, params: Params<'_>) -> AgentEvent {
    let option = |id: &str, kind, label: &str| PermissionOption {
        id: id.to_owned(),
        kind,
        label: label.to_owned(),
    };
    let is_patch = method.contains("fileChange") || method == "applyPatchApproval";
    AgentEvent::PermissionRequest {
        id: id.to_string(),
        tool: if is_patch { "apply_patch" } else { "shell" }.to_owned(),
        input: json!({ "item": params.item_id, "command": params.command, "reason": params.reason }),
        options: vec![
            option("accept", PermissionKind::AllowOnce, "allow"),
            option("decline", PermissionKind::RejectOnce, "do not allow"),
        ],
    }
}
