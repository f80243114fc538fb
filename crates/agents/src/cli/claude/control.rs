//! The other direction of Claude's two-way stream-json: turns, permissions, interruption.

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::permission::Decision;
use windlass_core::{AgentEvent, PermissionRequest, ToolKind};

use super::stream::StreamJson;
use crate::cli::gate::{self, PendingQuestions};
use crate::cli::{
    InteractiveParser, Parsed, Parser, PermissionGate, ProcessEnd, RunningTotal, TurnRequest,
};

/// One conversation over one process.
#[derive(Debug)]
pub struct ControlSession {
    stream: StreamJson,
    gate: PermissionGate,
    waiting: PendingQuestions<PendingPrompt>,
    requests: u64,
    /// Whether the turn runs; before that it cannot be interrupted.
    running: bool,
    /// Whether it is to be interrupted as soon as it runs.
    unwanted: bool,
}

/// A line about the conversation itself.
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
    /// The other side of a session that had consumed so much before; `None` if nobody knows how much.
    pub fn new(gate: impl Into<PermissionGate>, before: Option<RunningTotal>) -> Self {
        Self {
            stream: StreamJson::claude(before),
            gate: gate.into(),
            waiting: PendingQuestions::default(),
            requests: 0,
            running: false,
            unwanted: false,
        }
    }

    fn request(&mut self, request: Value) -> String {
        self.requests += 1;
        let id = format!("windlass-{}", self.requests);
        json!({ "type": "control_request", "request_id": id, "request": request }).to_string()
    }

    /// Nothing is left unanswered: Claude would wait for ever.
    fn on_control_request(&mut self, request_id: String, request: ControlRequest) -> Parsed {
        if request.subtype != "can_use_tool" {
            let error = format!("{} is not supported", request.subtype);
            return Parsed::reply(response(json!({
                "subtype": "error", "request_id": request_id, "error": error,
            })));
        }
        let ask = self.permission_request(&request_id, &request);
        let open = PendingPrompt {
            request_id,
            input: request.input,
        };
        match self.gate.decide(&ask) {
            Decision::Allow => Parsed::reply(open.answer(true)),
            Decision::Deny => Parsed::reply(open.answer(false)),
            Decision::AskApprover => match self.waiting.insert(ask.id.clone(), open) {
                Some(open) => Parsed::reply(open.answer(false)),
                None => Parsed::permission(ask),
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

/// A question that waits for a person.
#[derive(Debug)]
struct PendingPrompt {
    request_id: String,
    input: Value,
}

impl PendingPrompt {
    fn answer(self, yes: bool) -> String {
        let decision = match yes {
            true => json!({ "behavior": "allow", "updatedInput": self.input }),
            false => {
                json!({ "behavior": "deny", "message": "Permission denied by the user's settings." })
            }
        };
        let id = self.request_id;
        response(json!({ "subtype": "success", "request_id": id, "response": decision }))
    }
}

impl Parser for ControlSession {
    fn parse_line(&mut self, line: &str) -> Parsed {
        if let Some(mut heard) = self.stream.parse_known(line) {
            // Every turn begins by saying the session's name.
            if heard.session.is_some() {
                self.running = true;
                if self.unwanted {
                    heard.replies = self.interrupt();
                }
            }
            return heard;
        }
        match serde_json::from_str::<ControlMessage>(line) {
            Ok(control) => match (control.kind.as_str(), control.request_id, control.request) {
                ("control_request", Some(id), Some(request)) => {
                    self.on_control_request(id, request)
                }
                // Answers to what we asked, of which only the effect matters, and questions taken back.
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

    fn start_turn(&mut self, question: TurnRequest) -> Vec<String> {
        self.running = false;
        self.unwanted = false;
        self.waiting.clear();
        let message = json!({ "role": "user", "content": question.prompt });
        vec![json!({ "type": "user", "message": message }).to_string()]
    }

    fn interrupt(&mut self) -> Vec<String> {
        self.unwanted = true;
        if !self.running {
            return Vec::new();
        }
        vec![self.request(json!({ "subtype": "interrupt" }))]
    }

    fn answer_permission(&mut self, id: &str, option: Option<&str>) -> Vec<String> {
        let answered = self.waiting.take(id, option);
        let line = answered.map(|(open, yes)| open.answer(yes));
        line.into_iter().collect()
    }
}

fn response(response: Value) -> String {
    json!({ "type": "control_response", "response": response }).to_string()
}
