//! The other direction of Claude's two-way stream-json: turns, permissions, interruption.

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::{AgentEvent, PermissionKind, PermissionOption, PermissionPolicy};

use super::stream::StreamJson;
use crate::cli::{Dialog, Ended, Heard, Parser, Question, Total};

/// One conversation over one process.
#[derive(Debug)]
pub struct TwoWay {
    stream: StreamJson,
    permissions: PermissionPolicy,
    requests: u64,
    /// Whether the turn runs; before that it cannot be interrupted.
    running: bool,
    /// Whether it is to be interrupted as soon as it runs.
    unwanted: bool,
}

/// A line about the conversation itself.
#[derive(Deserialize)]
struct Control {
    #[serde(rename = "type")]
    kind: String,
    request_id: Option<String>,
    request: Option<Request>,
}

#[derive(Deserialize)]
struct Request {
    subtype: String,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    input: Value,
}

impl TwoWay {
    /// The other side of a session that had consumed so much before; `None` if nobody knows how much.
    pub fn new(permissions: PermissionPolicy, before: Option<Total>) -> Self {
        Self {
            stream: StreamJson::claude(before),
            permissions,
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
    fn asked(&self, request_id: String, request: Request) -> Heard {
        if request.subtype != "can_use_tool" {
            let error = format!("{} is not supported", request.subtype);
            return Heard::reply(response(json!({
                "subtype": "error", "request_id": request_id, "error": error,
            })));
        }
        let decision = match self.permissions {
            PermissionPolicy::Allow => {
                json!({ "behavior": "allow", "updatedInput": request.input })
            }
            _ => {
                json!({ "behavior": "deny", "message": "Permission denied by the user's settings." })
            }
        };
        let answer =
            json!({ "subtype": "success", "request_id": request_id, "response": decision });
        let mut heard = Heard::reply(response(answer));
        if self.permissions == PermissionPolicy::Ask {
            heard.events.push(question(request_id, request));
        }
        heard
    }
}

impl Parser for TwoWay {
    fn line(&mut self, line: &str) -> Heard {
        if let Some(mut heard) = self.stream.known(line) {
            // Every turn begins by saying the session's name.
            if heard.session.is_some() {
                self.running = true;
                if self.unwanted {
                    heard.replies = self.interrupt();
                }
            }
            return heard;
        }
        match serde_json::from_str::<Control>(line) {
            Ok(control) => match (control.kind.as_str(), control.request_id, control.request) {
                ("control_request", Some(id), Some(request)) => self.asked(id, request),
                // Answers to what we asked, of which only the effect matters, and questions taken back.
                ("control_response" | "control_cancel_request" | "keep_alive", ..) => {
                    Heard::default()
                }
                _ => Heard::unparsed(line),
            },
            Err(_) => Heard::unparsed(line),
        }
    }

    fn end(&mut self, ended: &Ended<'_>) -> AgentEvent {
        self.stream.end(ended)
    }
}

impl Dialog for TwoWay {
    fn open(&mut self) -> Vec<String> {
        vec![self.request(json!({ "subtype": "initialize", "hooks": {} }))]
    }

    fn ask(&mut self, question: Question) -> Vec<String> {
        self.running = false;
        self.unwanted = false;
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
}

fn response(response: Value) -> String {
    json!({ "type": "control_response", "response": response }).to_string()
}

/// The question, for whoever watches.
fn question(id: String, request: Request) -> AgentEvent {
    let option = |id: &str, kind, label: &str| PermissionOption {
        id: id.to_owned(),
        kind,
        label: label.to_owned(),
    };
    AgentEvent::PermissionRequest {
        id,
        tool: request.tool_name,
        input: request.input,
        options: vec![
            option("allow", PermissionKind::AllowOnce, "allow"),
            option("deny", PermissionKind::RejectOnce, "do not allow"),
        ],
    }
}
