//! The control messages of Claude's bidirectional stream-json: turns, permissions, interruption.

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::permission::Decision;
use windlass_core::{AgentEvent, PermissionRequest, ToolKind};

use super::stream::StreamJson;
use crate::cli::gate::{self, PendingQuestions};
use crate::cli::{InteractiveParser, Parsed, Parser, PermissionGate, RunningTotal, TurnRequest};
use crate::program::ProcessEnd;

/// One session over one process.
#[derive(Debug)]
pub struct ControlSession {
    stream: StreamJson,
    gate: PermissionGate,
    pending: PendingQuestions<PendingPrompt>,
    requests: u64,
    /// Whether the turn is running; before that it cannot be interrupted.
    running: bool,
    /// Whether the turn should be interrupted as soon as it is running.
    interrupt_requested: bool,
}

/// A control message.
#[derive(Deserialize)]
struct ControlMessage {
    #[serde(rename = "type")]
    kind: String,
    request_id: Option<String>,
    request: Option<ControlRequest>,
}

#[derive(Deserialize)]
struct ControlRequest {
    subtype: String,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    input: Value,
}

impl ControlSession {
    /// Creates the client side of a session with this usage so far, or `None` if it is unknown.
    pub fn new(gate: impl Into<PermissionGate>, before: Option<RunningTotal>) -> Self {
        Self {
            stream: StreamJson::claude(before),
            gate: gate.into(),
            pending: PendingQuestions::default(),
            requests: 0,
            running: false,
            interrupt_requested: false,
        }
    }

    fn request(&mut self, request: Value) -> String {
        self.requests += 1;
        let id = format!("windlass-{}", self.requests);
        json!({ "type": "control_request", "request_id": id, "request": request }).to_string()
    }

    /// Every request gets a response: Claude would wait forever.
    fn on_control_request(&mut self, request_id: String, request: ControlRequest) -> Parsed {
        if request.subtype != "can_use_tool" {
            let error = format!("{} is not supported", request.subtype);
            return Parsed::reply(response(json!({
                "subtype": "error", "request_id": request_id, "error": error,
            })));
        }
        let permission = self.permission_request(&request_id, &request);
        let prompt = PendingPrompt {
            request_id,
            input: request.input,
        };
        match self.gate.decide(&permission) {
            Decision::Allow => Parsed::reply(prompt.answer(true)),
            Decision::Deny => Parsed::reply(prompt.answer(false)),
            Decision::AskApprover => match self.pending.insert(permission.id.clone(), prompt) {
                Some(prompt) => Parsed::reply(prompt.answer(false)),
                None => Parsed::permission(permission),
            },
        }
    }

    fn permission_request(&self, id: &str, request: &ControlRequest) -> PermissionRequest {
        let kind = match request.tool_name.as_str() {
            "Read" | "Glob" | "Grep" | "LS" | "NotebookRead" => Some(ToolKind::Read),
            "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => Some(ToolKind::Write),
            "Bash" | "BashOutput" | "KillShell" => Some(ToolKind::Execute),
            _ => None,
        };
        let named = ["file_path", "notebook_path", "path"];
        let paths = named
            .iter()
            .filter_map(|name| request.input[*name].as_str());
        PermissionRequest {
            paths: paths.map(|path| self.gate.rule_path(path)).collect(),
            input: request.input.clone(),
            ..gate::permission_request("claude", id.to_owned(), &request.tool_name, kind)
        }
    }
}

/// A permission request that waits for the approver.
#[derive(Debug)]
struct PendingPrompt {
    request_id: String,
    input: Value,
}

impl PendingPrompt {
    fn answer(self, allowed: bool) -> String {
        let decision = if allowed {
            json!({ "behavior": "allow", "updatedInput": self.input })
        } else {
            json!({ "behavior": "deny", "message": "Permission denied by the user's settings." })
        };
        let id = self.request_id;
        response(json!({ "subtype": "success", "request_id": id, "response": decision }))
    }
}

impl Parser for ControlSession {
    fn parse_line(&mut self, line: &str) -> Parsed {
        if let Some(mut parsed) = self.stream.parse_known(line) {
            // Every turn starts with a line that has the session's ID.
            if parsed.session.is_some() {
                self.running = true;
                if self.interrupt_requested {
                    parsed.replies = self.interrupt();
                }
            }
            return parsed;
        }
        match serde_json::from_str::<ControlMessage>(line) {
            Ok(control) => match (control.kind.as_str(), control.request_id, control.request) {
                ("control_request", Some(id), Some(request)) => {
                    self.on_control_request(id, request)
                }
                // Responses to our requests, of which only the effect matters, and withdrawn requests.
                ("control_response" | "control_cancel_request" | "keep_alive", ..) => {
                    Parsed::default()
                }
                _ => Parsed::unparsed(line),
            },
            Err(_) => Parsed::unparsed(line),
        }
    }

    fn finish(&mut self, ended: &ProcessEnd<'_>) -> AgentEvent {
        self.stream.finish(ended)
    }
}

impl InteractiveParser for ControlSession {
    fn on_start(&mut self) -> Vec<String> {
        vec![self.request(json!({ "subtype": "initialize", "hooks": {} }))]
    }

    fn start_turn(&mut self, request: TurnRequest) -> Vec<String> {
        self.running = false;
        self.interrupt_requested = false;
        self.pending.clear();
        let message = json!({ "role": "user", "content": request.prompt });
        vec![json!({ "type": "user", "message": message }).to_string()]
    }

    fn interrupt(&mut self) -> Vec<String> {
        self.interrupt_requested = true;
        if !self.running {
            return Vec::new();
        }
        vec![self.request(json!({ "subtype": "interrupt" }))]
    }

    fn answer_permission(&mut self, id: &str, option: Option<&str>) -> Vec<String> {
        let answered = self.pending.take(id, option);
        let line = answered.map(|(prompt, allowed)| prompt.answer(allowed));
        line.into_iter().collect()
    }
}

fn response(response: Value) -> String {
    json!({ "type": "control_response", "response": response }).to_string()
}
