//! The other direction of Claude's two-way stream-json: turns, permissions, interruption.

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::permission::Decision;
use windlass_core::{AgentEvent, PermissionAsk, ToolKind};

use super::stream::StreamJson;
use crate::cli::gate::{self, Waiting};
use crate::cli::{Dialog, Ended, Gate, Heard, Parser, Question, Total};

/// One conversation over one process.
#[derive(Debug)]
pub struct TwoWay {
    stream: StreamJson,
    gate: Gate,
    waiting: Waiting<Open>,
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
    pub fn new(gate: impl Into<Gate>, before: Option<Total>) -> Self {
        Self {
            stream: StreamJson::claude(before),
            gate: gate.into(),
            waiting: Waiting::default(),
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
    fn asked(&mut self, request_id: String, request: Request) -> Heard {
        if request.subtype != "can_use_tool" {
            let error = format!("{} is not supported", request.subtype);
            return Heard::reply(response(json!({
                "subtype": "error", "request_id": request_id, "error": error,
            })));
        }
        let ask = self.question(&request_id, &request);
        let open = Open {
            request_id,
            input: request.input,
        };
        match self.gate.decide(&ask) {
            Decision::Allow => Heard::reply(open.answer(true)),
            Decision::Deny => Heard::reply(open.answer(false)),
            Decision::AskPerson => match self.waiting.put(ask.id.clone(), open) {
                Some(open) => Heard::reply(open.answer(false)),
                None => Heard::ask(ask),
            },
        }
    }

    fn question(&self, id: &str, request: &Request) -> PermissionAsk {
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
        PermissionAsk {
            paths: paths.map(|path| self.gate.seen(path)).collect(),
            input: request.input.clone(),
            ..gate::ask("claude", id.to_owned(), &request.tool_name, kind)
        }
    }
}

/// A question that waits for a person.
#[derive(Debug)]
struct Open {
    request_id: String,
    input: Value,
}

impl Open {
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

    fn answer(&mut self, id: &str, option: Option<&str>) -> Vec<String> {
        let answered = self.waiting.take(id, option);
        let line = answered.map(|(open, yes)| open.answer(yes));
        line.into_iter().collect()
    }
}

fn response(response: Value) -> String {
    json!({ "type": "control_response", "response": response }).to_string()
}
