//! The conversation with `codex app-server`.

use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_core::{AgentEvent, ErrorCode, PlanEntry};

use super::approvals::PendingApprovals;
use super::items::{Item, ItemKind};
use super::messages::{Message, Params, ThreadUsage, TurnInfo};
use super::sandbox;
use crate::cli::{
    InteractiveParser, Parsed, Parser, ProcessEnd, RunContext, RunningTotal, SessionStart,
    TurnRequest, failure,
};

/// The numbers of our first requests; each turn and each interruption has the next.
const INITIALIZE: u64 = 1;
const THREAD: u64 = 2;

/// Notifications that say nothing that other lines do not say better.
const IGNORED_METHODS: &[&str] = &[
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
    approvals: PendingApprovals,
    thread: Option<String>,
    /// A question that came before the thread was ready.
    waiting: Option<TurnRequest>,
    requests: u64,
    turn: TurnState,
}

/// What is known of the turn under way.
#[derive(Debug, Default)]
struct TurnState {
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
    before: Option<RunningTotal>,
    total: Option<RunningTotal>,
    diff: String,
    /// What the change that was begun last would touch.
    changed: Vec<PathBuf>,
}

impl AppServer {
    /// The other side of this call's process.
    pub fn new(call: &RunContext<'_>) -> Self {
        let mut params = json!({
            "cwd": call.cwd,
            "approvalPolicy": "on-request",
            "sandbox": sandbox(call),
        });
        if let Some(model) = call.model {
            params["model"] = model.into();
        }
        if !call.mcp_servers.is_empty() {
            let mut servers = call.mcp_servers_json();
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
            SessionStart::Resume(id) | SessionStart::Named(id) => {
                params["threadId"] = id.into();
                params["excludeTurns"] = true.into();
                "thread/resume"
            }
            SessionStart::Fresh => {
                if let Some(words) = call.instructions {
                    params["developerInstructions"] = words.into();
                }
                "thread/start"
            }
        };
        Self {
            begin: json!({ "id": THREAD, "method": method, "params": params }),
            approvals: PendingApprovals::new(call.into()),
            thread: None,
            waiting: None,
            requests: THREAD,
            turn: TurnState::default(),
        }
    }

    fn on_response(&mut self, id: u64, result: Params<'_>) -> Parsed {
        match id {
            INITIALIZE => Parsed {
                replies: vec![
                    json!({ "method": "initialized" }).to_string(),
                    self.begin.to_string(),
                ],
                ..Parsed::default()
            },
            THREAD => {
                self.thread = result.thread.map(|thread| thread.id);
                let waiting = self.waiting.take();
                Parsed {
                    session: self.thread.clone(),
                    replies: waiting
                        .into_iter()
                        .flat_map(|question| self.start_turn(question))
                        .collect(),
                    ..Parsed::default()
                }
            }
            _ => {
                if let Some(turn) = result.turn.filter(|_| id == self.turn.request) {
                    self.turn.id = Some(turn.id);
                }
                Parsed::default()
            }
        }
    }

    fn on_error_response(&self, id: u64, message: &str) -> Parsed {
        let is_ours = id <= THREAD || id == self.turn.request;
        Parsed::events(
            is_ours.then(|| match failure::session_lost_message(message) {
                Some(reason) => AgentEvent::SessionInvalid { reason },
                None => failure::error_event(None, message),
            }),
        )
    }

    fn notified(&mut self, method: &str, params: Params<'_>, line: &str) -> Parsed {
        if params.thread_id.is_some() && params.thread_id != self.thread {
            // A thread that the agent began for a helper of its own.
            return Parsed::unparsed(line);
        }
        let heard = match method.split_once('/') {
            Some(("item", what)) => self.item(what, params, line),
            _ => self.on_turn_notification(method, params),
        };
        heard.unwrap_or_else(|| match IGNORED_METHODS.contains(&method) {
            true => Parsed::default(),
            false => Parsed::unparsed(line),
        })
    }

    /// Something about an item; `None` if it means nothing to us.
    fn item(&mut self, what: &str, params: Params<'_>, line: &str) -> Option<Parsed> {
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
                let is_tool = item.kind() == ItemKind::Tool;
                self.turn.changed = item.changed_paths();
                is_tool.then(|| item.tool_start(item.id.to_string()))
            }
            "completed" => return Some(self.completed(params.item?, line)),
            _ => return None,
        };
        Some(Parsed::events(event))
    }

    /// Something about the turn or the thread; `None` if it means nothing to us.
    fn on_turn_notification(&mut self, method: &str, params: Params<'_>) -> Option<Parsed> {
        let event = match method {
            "turn/started" => return Some(self.started(params.turn?.id)),
            "turn/completed" => return Some(self.ended(params.turn?)),
            "turn/plan/updated" => Some(AgentEvent::Plan {
                entries: params.plan?.into_iter().map(PlanEntry::from).collect(),
            }),
            "turn/diff/updated" => self.on_diff(params.diff?),
            "thread/tokenUsage/updated" => {
                return Some(self.on_usage(params.turn_id, &params.token_usage?));
            }
            // One that is final is said again by the end of the turn.
            "error" => params.will_retry.then_some(params.error?.to_retry_event()),
            _ => return None,
        };
        Some(Parsed::events(event))
    }

    fn started(&mut self, id: String) -> Parsed {
        if *self.turn.id.get_or_insert(id.clone()) != id {
            return Parsed::default();
        }
        self.turn.running = true;
        Parsed {
            replies: match self.turn.unwanted {
                true => self.interrupt(),
                false => Vec::new(),
            },
            ..Parsed::default()
        }
    }

    fn completed(&mut self, item: Item<'_>, line: &str) -> Parsed {
        let is_said = self.turn.streamed.as_deref() == Some(&*item.id);
        Parsed::events(match item.kind() {
            ItemKind::Answer => {
                self.turn.answer = item.text.unwrap_or_default();
                (!is_said).then(|| AgentEvent::Text(self.turn.answer.clone()))
            }
            ItemKind::Thought if is_said => None,
            ItemKind::Thought => item.reasoning_text().map(AgentEvent::Thought),
            ItemKind::Tool => {
                let id = item.id.to_string();
                Some(item.tool_end(id))
            }
            ItemKind::Plan => Some(item.plan()),
            ItemKind::Notice => Some(item.notice()),
            ItemKind::Prompt => None,
            ItemKind::Other => return Parsed::unparsed(line),
        })
    }

    /// The whole change so far; Codex repeats it after every step.
    fn on_diff(&mut self, diff: String) -> Option<AgentEvent> {
        if diff == self.turn.diff {
            return None;
        }
        self.turn.diff.clone_from(&diff);
        Some(AgentEvent::custom("diff", json!({ "diff": diff })))
    }

    /// The thread's total, from which this turn's part follows: what its first call found is not its own.
    fn on_usage(&mut self, turn: Option<String>, usage: &ThreadUsage) -> Parsed {
        let total = RunningTotal::from(usage.total);
        if turn.is_some() && turn == self.turn.id {
            let before = total.before(usage.last.into());
            self.turn.before.get_or_insert(before);
            self.turn.total = Some(total);
        }
        Parsed {
            total: Some(total),
            ..Parsed::default()
        }
    }

    fn ended(&mut self, turn: TurnInfo) -> Parsed {
        if self.turn.id.as_ref().is_some_and(|id| *id != turn.id) {
            // An earlier turn, of which nobody waits for the end any more.
            return Parsed::default();
        }
        let mine = std::mem::take(&mut self.turn);
        let usage = mine
            .total
            .zip(mine.before)
            .map(|(total, before)| total.usage_since(before));
        Parsed::event(match (turn.status.as_deref(), turn.error) {
            (Some("completed"), _) => AgentEvent::Result {
                text: mine.answer,
                usage,
                metadata: json!({ "duration_ms": turn.duration_ms }),
            },
            (Some("interrupted"), _) => {
                failure::error_event_with_code(ErrorCode::Cancelled, None, "interrupted")
            }
            (_, Some(problem)) => problem.to_error_event(),
            (status, None) => failure::error_event(None, &format!("the turn ended as {status:?}")),
        })
    }

    fn request(&mut self, method: &str, params: Value) -> String {
        self.requests += 1;
        json!({ "id": self.requests, "method": method, "params": params }).to_string()
    }
}

impl Parser for AppServer {
    fn parse_line(&mut self, line: &str) -> Parsed {
        let Ok(message) = serde_json::from_str::<Message<'_>>(line) else {
            return Parsed::unparsed(line);
        };
        let params = message.params.unwrap_or_default();
        match (message.method, message.id) {
            (Some(method), Some(id)) => {
                self.approvals
                    .on_request(&method, id, params, &self.turn.changed)
            }
            (Some(method), None) => self.notified(&method, params, line),
            (None, Some(id)) => {
                let id = id.as_u64().unwrap_or_default();
                match message.error {
                    Some(error) => self.on_error_response(id, &error.message),
                    None => self.on_response(id, message.result.unwrap_or_default()),
                }
            }
            (None, None) => Parsed::unparsed(line),
        }
    }

    fn finish(&mut self, ended: &ProcessEnd<'_>) -> AgentEvent {
        failure::no_result_error("codex", None, ended)
    }
}

impl InteractiveParser for AppServer {
    fn on_start(&mut self) -> Vec<String> {
        let client = json!({ "name": "windlass", "title": "Windlass", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "clientInfo": client });
        vec![json!({ "id": INITIALIZE, "method": "initialize", "params": params }).to_string()]
    }

    fn start_turn(&mut self, question: TurnRequest) -> Vec<String> {
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
        self.approvals.clear();
        let line = self.request("turn/start", params);
        self.turn = TurnState {
            request: self.requests,
            ..TurnState::default()
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

    fn answer_permission(&mut self, id: &str, option: Option<&str>) -> Vec<String> {
        self.approvals.answer(id, option)
    }
}
