//! The client side of `codex app-server`.

use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_core::{AgentEvent, ErrorCode, PlanEntry};

use super::approvals::PendingApprovals;
use super::items::{Item, ItemKind};
use super::messages::{Message, Params, ThreadUsage, TurnInfo};
use super::sandbox;
use crate::cli::{
    InteractiveParser, Parsed, Parser, RunContext, RunningTotal, SessionStart, TurnRequest,
};
use crate::program::{ProcessEnd, failure};

/// The IDs of our first requests; each turn and each interruption uses the next one.
const INITIALIZE: u64 = 1;
const THREAD: u64 = 2;

/// Notifications that other messages repeat in a better form.
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
    /// The request that starts or resumes the thread.
    thread_request: Value,
    approvals: PendingApprovals,
    thread: Option<String>,
    /// A turn that was requested before the thread was ready.
    queued_turn: Option<TurnRequest>,
    requests: u64,
    turn: CodexTurnState,
}

/// State of the running turn.
#[derive(Debug, Default)]
struct CodexTurnState {
    request: u64,
    id: Option<String>,
    /// Whether the turn is running; before that it cannot be interrupted.
    running: bool,
    /// Whether the turn should be interrupted as soon as it is running.
    interrupt_requested: bool,
    answer: String,
    /// The item with text that was streamed and must not be emitted again.
    streamed: Option<String>,
    /// The thread's usage when the turn started.
    before: Option<RunningTotal>,
    total: Option<RunningTotal>,
    diff: String,
    /// The paths of the file change that started last.
    changed_paths: Vec<PathBuf>,
}

impl AppServer {
    /// Creates the client side of this run's process.
    pub fn new(run: &RunContext<'_>) -> Self {
        let mut params = json!({
            "cwd": run.cwd,
            "approvalPolicy": "on-request",
            "sandbox": sandbox(run),
        });
        if let Some(model) = run.model {
            params["model"] = model.into();
        }
        if !run.mcp_servers.is_empty() {
            let mut servers = run.mcp_servers_json();
            for server in servers
                .as_object_mut()
                .into_iter()
                .flat_map(|all| all.values_mut())
            {
                // Codex starts without the servers that are not marked as required.
                server["required"] = true.into();
            }
            params["config"] = json!({ "mcp_servers": servers });
        }
        let method = match run.start {
            SessionStart::Resume(id) | SessionStart::Named(id) => {
                params["threadId"] = id.into();
                params["excludeTurns"] = true.into();
                "thread/resume"
            }
            SessionStart::Fresh => {
                if let Some(instructions) = run.instructions {
                    params["developerInstructions"] = instructions.into();
                }
                "thread/start"
            }
        };
        Self {
            thread_request: json!({ "id": THREAD, "method": method, "params": params }),
            approvals: PendingApprovals::new(run.into()),
            thread: None,
            queued_turn: None,
            requests: THREAD,
            turn: CodexTurnState::default(),
        }
    }

    fn on_response(&mut self, id: u64, result: Params<'_>) -> Parsed {
        match id {
            INITIALIZE => Parsed {
                replies: vec![
                    json!({ "method": "initialized" }).to_string(),
                    self.thread_request.to_string(),
                ],
                ..Parsed::default()
            },
            THREAD => {
                self.thread = result.thread.map(|thread| thread.id);
                let queued_turn = self.queued_turn.take();
                Parsed {
                    session: self.thread.clone(),
                    replies: queued_turn
                        .into_iter()
                        .flat_map(|request| self.start_turn(request))
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

    fn on_notification(&mut self, method: &str, params: Params<'_>, line: &str) -> Parsed {
        if params.thread_id.is_some() && params.thread_id != self.thread {
            // A thread that the agent started for a subagent.
            return Parsed::unparsed(line);
        }
        let parsed = match method.split_once('/') {
            Some(("item", what)) => self.item(what, params, line),
            _ => self.on_turn_notification(method, params),
        };
        parsed.unwrap_or_else(|| {
            if IGNORED_METHODS.contains(&method) {
                Parsed::default()
            } else {
                Parsed::unparsed(line)
            }
        })
    }

    /// Handles a notification about an item. Returns `None` if it is not recognized.
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
                self.turn.changed_paths = item.changed_paths();
                is_tool.then(|| item.tool_start(item.id.to_string()))
            }
            "completed" => return Some(self.completed(params.item?, line)),
            _ => return None,
        };
        Some(Parsed::events(event))
    }

    /// Handles a notification about the turn or the thread. Returns `None` if it is not recognized.
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
            // A final error is reported again at the end of the turn.
            "error" => params
                .will_retry
                .then_some(params.error?.into_retry_event()),
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
            replies: if self.turn.interrupt_requested {
                self.interrupt()
            } else {
                Vec::new()
            },
            ..Parsed::default()
        }
    }

    fn completed(&mut self, item: Item<'_>, line: &str) -> Parsed {
        let is_emitted = self.turn.streamed.as_deref() == Some(&*item.id);
        Parsed::events(match item.kind() {
            ItemKind::Answer => {
                self.turn.answer = item.text.unwrap_or_default();
                (!is_emitted).then(|| AgentEvent::Text(self.turn.answer.clone()))
            }
            ItemKind::Thought if is_emitted => None,
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

    /// Handles the diff of the whole turn so far, which Codex repeats after every step.
    fn on_diff(&mut self, diff: String) -> Option<AgentEvent> {
        if diff == self.turn.diff {
            return None;
        }
        self.turn.diff.clone_from(&diff);
        Some(AgentEvent::custom("diff", json!({ "diff": diff })))
    }

    /// Computes the usage of this turn from the thread's total: the total before the turn's first call is
    /// subtracted.
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
            // An earlier turn, which has no receiver any more.
            return Parsed::default();
        }
        let state = std::mem::take(&mut self.turn);
        let usage = state
            .total
            .zip(state.before)
            .map(|(total, before)| total.usage_since(before));
        Parsed::event(match (turn.status.as_deref(), turn.error) {
            (Some("completed"), _) => AgentEvent::Result {
                text: state.answer,
                usage,
                metadata: json!({ "duration_ms": turn.duration_ms }),
            },
            (Some("interrupted"), _) => {
                failure::error_event_with_code(ErrorCode::Cancelled, None, "interrupted")
            }
            (_, Some(problem)) => problem.into_error_event(),
            (status, None) => {
                failure::error_event(None, &format!("the turn ended with status {status:?}"))
            }
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
                    .on_request(&method, id, params, &self.turn.changed_paths)
            }
            (Some(method), None) => self.on_notification(&method, params, line),
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

    fn start_turn(&mut self, request: TurnRequest) -> Vec<String> {
        let Some(thread) = self.thread.clone() else {
            self.queued_turn = Some(request);
            return Vec::new();
        };
        let mut params = json!({
            "threadId": thread,
            "input": [{ "type": "text", "text": request.prompt }],
        });
        if let Some(schema) = request.schema {
            params["outputSchema"] = schema;
        }
        self.approvals.clear();
        let line = self.request("turn/start", params);
        self.turn = CodexTurnState {
            request: self.requests,
            ..CodexTurnState::default()
        };
        vec![line]
    }

    fn interrupt(&mut self) -> Vec<String> {
        self.turn.interrupt_requested = true;
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
