//! What Codex asks of us while it works, and our answers.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use windlass_core::permission::Decision;
use windlass_core::{PermissionAsk, ToolKind};

use super::messages::Params;
use crate::cli::Heard;
use crate::cli::gate::{self, Gate, Waiting};

/// The questions of one thread.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    gate: Gate,
    waiting: Waiting<Open>,
}

/// A question that waits for a person.
#[derive(Debug)]
struct Open {
    id: Value,
    answers: Answers,
}

/// How Codex wants yes and no to be said.
#[derive(Debug, Clone, Copy)]
enum Answers {
    Accept,
    Approved,
    /// A server's question whether its tool may run.
    Action,
}

impl Answers {
    fn say(self, yes: bool) -> Value {
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

impl Approvals {
    pub(super) fn new(gate: Gate) -> Self {
        Self {
            gate,
            waiting: Waiting::default(),
        }
    }

    /// Answers a request, or has a person answer it. Nothing is left unanswered: Codex would wait for ever.
    pub(super) fn asked(
        &mut self,
        method: &str,
        id: Value,
        params: Params<'_>,
        changed: &[PathBuf],
    ) -> Heard {
        let answers = match method {
            "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
                Answers::Accept
            }
            "execCommandApproval" | "applyPatchApproval" => Answers::Approved,
            "mcpServer/elicitation/request" if is_about_a_tool(&params) => Answers::Action,
            // Wider permissions than the session has are never granted: the session's are all that was agreed on.
            "item/permissions/requestApproval" => return result(&id, json!({ "permissions": {} })),
            // A server may ask for anything; only whether its tool may run is ours to say.
            "mcpServer/elicitation/request" => return result(&id, json!({ "action": "decline" })),
            "item/tool/requestUserInput" => return result(&id, json!({ "answers": {} })),
            _ => {
                let error =
                    json!({ "code": -32601, "message": format!("{method} is not supported") });
                return Heard::reply(json!({ "id": id, "error": error }).to_string());
            }
        };
        let ask = self.question(method, &id, params, changed);
        match self.gate.decide(&ask) {
            Decision::Allow => result(&id, answers.say(true)),
            Decision::Deny => result(&id, answers.say(false)),
            Decision::AskPerson => {
                let open = Open { id, answers };
                match self.waiting.put(ask.id.clone(), open) {
                    Some(open) => result(&open.id, open.answers.say(false)),
                    None => Heard::ask(ask),
                }
            }
        }
    }

    /// What a person said to the question of this id.
    pub(super) fn answer(&mut self, id: &str, option: Option<&str>) -> Vec<String> {
        let answered = self.waiting.take(id, option);
        let line = |(open, yes): (Open, bool)| result(&open.id, open.answers.say(yes)).replies;
        answered.map(line).unwrap_or_default()
    }

    /// A new turn begins; what an earlier one asked is over.
    pub(super) fn begin(&mut self) {
        self.waiting.clear();
    }

    fn question(
        &self,
        method: &str,
        id: &Value,
        params: Params<'_>,
        changed: &[PathBuf],
    ) -> PermissionAsk {
        let is_patch = method.contains("fileChange") || method == "applyPatchApproval";
        let (tool, kind) = match method {
            "mcpServer/elicitation/request" => ("mcp", None),
            _ if is_patch => ("apply_patch", Some(ToolKind::Write)),
            _ => ("shell", Some(ToolKind::Execute)),
        };
        let seen = |path: &PathBuf| self.gate.seen(&path.to_string_lossy());
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
        PermissionAsk {
            paths,
            input: input.into(),
            ..gate::ask("codex", id.to_string(), tool, kind)
        }
    }
}

fn result(id: &Value, result: Value) -> Heard {
    Heard::reply(json!({ "id": id, "result": result }).to_string())
}

fn is_about_a_tool(params: &Params<'_>) -> bool {
    let kind = params
        .meta
        .as_ref()
        .and_then(|meta| meta.codex_approval_kind.as_deref());
    kind == Some("mcp_tool_call")
}
