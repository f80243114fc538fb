//! The conversation with `codex app-server`.

use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_core::{AgentEvent, ErrorCode, PlanEntry};

use super::approvals::Approvals;
use super::items::{Item, Meaning};
use super::messages::{Message, Params, TokenUsage, TurnInfo};
use super::sandbox;
use crate::cli::{Call, Dialog, Ended, Heard, Parser, Question, Start, Total, failure};

/// The numbers of our first requests; each turn and each interruption has the next.
const INITIALIZE: u64 = 1;
const THREAD: u64 = 2;

/// Notifications that say nothing that other lines do not say better.
const QUIET: &[&str] = &[
    "account/rateLimits/updated",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "item/reasoning/summaryPartAdded",
    "mcpServer/startupStatus/updated",
    "remoteControl/status/changed",
    "serverRequest/resolved",
    "skills/changed",
    "thread/goal/cleared",
    "thread/name/updated",
    "thread/settings/updated",
    "thread/started",
    "thread/status/changed",
];

/// One thread on an app server.
#[derive(Debug)]
pub struct AppServer {
    /// The request that begins or resumes the thread.
    begin: Value,
    approvals: Approvals,
    thread: Option<String>,
    /// A question that came before the thread was ready.
    waiting: Option<Question>,
    requests: u64,
    turn: Turn,
}

/// What is known of the turn under way.
#[derive(Debug, Default)]
struct Turn {
    request: u64,
    id: Option<String>,
    /// Whether it runs; before that it cannot be interrupted.
    running: bool,
    /// Whether it is to be interrupted as soon as it runs.
    unwanted: bool,
    answer: String,
    /// The item whose text came in pieces and need not be said again.
    streamed: Option<String>,
    /// What the thread had consumed when the turn began.
    before: Option<Total>,
    total: Option<Total>,
    diff: String,
    /// What the change that was begun last would touch.
    changed: Vec<PathBuf>,
}

impl AppServer {
    /// The other side of this call's process.
    pub fn new(call: &Call<'_>) -> Self {
        let mut params = json!({
            "cwd": call.cwd,
            "approvalPolicy": "on-request",
            "sandbox": sandbox(call),
        });
        if let Some(model) = call.model {
            params["model"] = model.into();
        }
        if !call.mcp_servers.is_empty() {
            let mut servers = call.servers();
            for server in servers
                .as_object_mut()
                .into_iter()
                .flat_map(|all| all.values_mut())
            {
                // Codex begins without the servers that it does not need.
                server["required"] = true.into();
            }
            params["config"] = json!({ "mcp_servers": servers });
        }
        let method = match call.start {
            Start::Resume(id) | Start::Named(id) => {
                params["threadId"] = id.into();
                params["excludeTurns"] = true.into();
                "thread/resume"
            }
            Start::Fresh => {
                if let Some(words) = call.instructions {
                    params["developerInstructions"] = words.into();
                }
                "thread/start"
            }
        };
        Self {
            begin: json!({ "id": THREAD, "method": method, "params": params }),
            approvals: Approvals::new(call.into()),
            thread: None,
            waiting: None,
            requests: THREAD,
            turn: Turn::default(),
        }
    }

    fn answered(&mut self, id: u64, result: Params<'_>) -> Heard {
        match id {
            INITIALIZE => Heard {
                replies: vec![
                    json!({ "method": "initialized" }).to_string(),
                    self.begin.to_string(),
                ],
                ..Heard::default()
            },
            THREAD => {
                self.thread = result.thread.map(|thread| thread.id);
                let waiting = self.waiting.take();
                Heard {
                    session: self.thread.clone(),
                    replies: waiting
                        .into_iter()
                        .flat_map(|question| self.ask(question))
                        .collect(),
                    ..Heard::default()
                }
            }
            _ => {
                if let Some(turn) = result.turn.filter(|_| id == self.turn.request) {
                    self.turn.id = Some(turn.id);
                }
                Heard::default()
            }
        }
    }

    fn refused(&self, id: u64, message: &str) -> Heard {
        let is_ours = id <= THREAD || id == self.turn.request;
        Heard::events(is_ours.then(|| match failure::lost(message) {
            Some(reason) => AgentEvent::SessionInvalid { reason },
            None => failure::failed(None, message),
        }))
    }

    fn notified(&mut self, method: &str, params: Params<'_>, line: &str) -> Heard {
        if params.thread_id.is_some() && params.thread_id != self.thread {
            // A thread that the agent began for a helper of its own.
            return Heard::unparsed(line);
        }
        let heard = match method.split_once('/') {
            Some(("item", what)) => self.item(what, params, line),
            _ => self.news(method, params),
        };
        heard.unwrap_or_else(|| match QUIET.contains(&method) {
            true => Heard::default(),
            false => Heard::unparsed(line),
        })
    }

    /// Something about an item; `None` if it means nothing to us.
    fn item(&mut self, what: &str, params: Params<'_>, line: &str) -> Option<Heard> {
        let event = match what {
            "agentMessage/delta" => {
                self.turn.streamed = params.item_id;
                params.delta.map(AgentEvent::Text)
            }
            "reasoning/summaryTextDelta" | "reasoning/textDelta" => {
                self.turn.streamed = params.item_id;
                params.delta.map(AgentEvent::Thought)
            }
            "commandExecution/outputDelta" => Some(AgentEvent::ToolProgress {
                id: params.item_id?,
                update: json!({ "output": params.delta }),
            }),
            "started" => {
                let item = params.item?;
                let is_tool = item.meaning() == Meaning::Tool;
                self.turn.changed = item.changed();
                is_tool.then(|| item.tool_start(item.id.to_string()))
            }
            "completed" => return Some(self.completed(params.item?, line)),
            _ => return None,
        };
        Some(Heard::events(event))
    }

    /// Something about the turn or the thread; `None` if it means nothing to us.
    fn news(&mut self, method: &str, params: Params<'_>) -> Option<Heard> {
        let event = match method {
            "turn/started" => return Some(self.started(params.turn?.id)),
            "turn/completed" => return Some(self.ended(params.turn?)),
            "turn/plan/updated" => Some(AgentEvent::Plan {
                entries: params.plan?.into_iter().map(PlanEntry::from).collect(),
            }),
            "turn/diff/updated" => self.changed(params.diff?),
            "thread/tokenUsage/updated" => {
                return Some(self.consumed(params.turn_id, &params.token_usage?));
            }
            // One that is final is said again by the end of the turn.
            "error" => params.will_retry.then_some(params.error?.retry()),
            _ => return None,
        };
        Some(Heard::events(event))
    }

    fn started(&mut self, id: String) -> Heard {
        if *self.turn.id.get_or_insert(id.clone()) != id {
            return Heard::default();
        }
        self.turn.running = true;
        Heard {
            replies: match self.turn.unwanted {
                true => self.interrupt(),
                false => Vec::new(),
            },
            ..Heard::default()
        }
    }

    fn completed(&mut self, item: Item<'_>, line: &str) -> Heard {
        let is_said = self.turn.streamed.as_deref() == Some(&*item.id);
        Heard::events(match item.meaning() {
            Meaning::Answer => {
                self.turn.answer = item.text.unwrap_or_default();
                (!is_said).then(|| AgentEvent::Text(self.turn.answer.clone()))
            }
            Meaning::Thought if is_said => None,
            Meaning::Thought => item.thought().map(AgentEvent::Thought),
            Meaning::Tool => {
                let id = item.id.to_string();
                Some(item.tool_end(id))
            }
            Meaning::Plan => Some(item.plan()),
            Meaning::Notice => Some(item.notice()),
            Meaning::Prompt => None,
            Meaning::Other => return Heard::unparsed(line),
        })
    }

    /// The whole change so far; Codex repeats it after every step.
    fn changed(&mut self, diff: String) -> Option<AgentEvent> {
        if diff == self.turn.diff {
            return None;
        }
        self.turn.diff.clone_from(&diff);
        Some(AgentEvent::custom("diff", json!({ "diff": diff })))
    }

    /// The thread's total, from which this turn's part follows: what its first call found is not its own.
    fn consumed(&mut self, turn: Option<String>, usage: &TokenUsage) -> Heard {
        let total = Total::from(usage.total);
        if turn.is_some() && turn == self.turn.id {
            let before = total.before(usage.last.into());
            self.turn.before.get_or_insert(before);
            self.turn.total = Some(total);
        }
        Heard {
            total: Some(total),
            ..Heard::default()
        }
    }

    fn ended(&mut self, turn: TurnInfo) -> Heard {
        if self.turn.id.as_ref().is_some_and(|id| *id != turn.id) {
            // An earlier turn, of which nobody waits for the end any more.
            return Heard::default();
        }
        let mine = std::mem::take(&mut self.turn);
        let usage = mine
            .total
            .zip(mine.before)
            .map(|(total, before)| total.since(before));
        Heard::event(match (turn.status.as_deref(), turn.error) {
            (Some("completed"), _) => AgentEvent::Result {
                text: mine.answer,
                usage,
                metadata: json!({ "duration_ms": turn.duration_ms }),
            },
            (Some("interrupted"), _) => failure::coded(ErrorCode::Cancelled, None, "interrupted"),
            (_, Some(problem)) => problem.failed(),
            (status, None) => failure::failed(None, &format!("the turn ended as {status:?}")),
        })
    }

    fn request(&mut self, method: &str, params: Value) -> String {
        self.requests += 1;
        json!({ "id": self.requests, "method": method, "params": params }).to_string()
    }
}

impl Parser for AppServer {
    fn line(&mut self, line: &str) -> Heard {
        let Ok(message) = serde_json::from_str::<Message<'_>>(line) else {
            return Heard::unparsed(line);
        };
        let params = message.params.unwrap_or_default();
        match (message.method, message.id) {
            (Some(method), Some(id)) => {
                self.approvals
                    .asked(&method, id, params, &self.turn.changed)
            }
            (Some(method), None) => self.notified(&method, params, line),
            (None, Some(id)) => {
                let id = id.as_u64().unwrap_or_default();
                match message.error {
                    Some(error) => self.refused(id, &error.message),
                    None => self.answered(id, message.result.unwrap_or_default()),
                }
            }
            (None, None) => Heard::unparsed(line),
        }
    }

    fn end(&mut self, ended: &Ended<'_>) -> AgentEvent {
        failure::silent("codex", None, ended)
    }
}

impl Dialog for AppServer {
    fn open(&mut self) -> Vec<String> {
        let client = json!({ "name": "windlass", "title": "Windlass", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "clientInfo": client });
        vec![json!({ "id": INITIALIZE, "method": "initialize", "params": params }).to_string()]
    }

    fn ask(&mut self, question: Question) -> Vec<String> {
        let Some(thread) = self.thread.clone() else {
            self.waiting = Some(question);
            return Vec::new();
        };
        let mut params = json!({
            "threadId": thread,
            "input": [{ "type": "text", "text": question.prompt }],
        });
        if let Some(schema) = question.schema {
            params["outputSchema"] = schema;
        }
        self.approvals.begin();
        let line = self.request("turn/start", params);
        self.turn = Turn {
            request: self.requests,
            ..Turn::default()
        };
        vec![line]
    }

    fn interrupt(&mut self) -> Vec<String> {
        self.turn.unwanted = true;
        let turn = self.turn.id.as_ref().filter(|_| self.turn.running);
        let (Some(thread), Some(turn)) = (&self.thread, turn) else {
            return Vec::new();
        };
        let params = json!({ "threadId": thread, "turnId": turn });
        vec![self.request("turn/interrupt", params)]
    }

    fn answer(&mut self, id: &str, option: Option<&str>) -> Vec<String> {
        self.approvals.answer(id, option)
    }
}
