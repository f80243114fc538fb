//! An agent that follows a script, one action per turn.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use serde_json::json;
use windlass_core::permission::SessionApprover;
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, BackendEvent, Capabilities, EditMode, Error, ErrorCode,
    EventStream, PermissionKind, PermissionOption, PermissionRequest, Prompt, Result, SessionId,
    SessionOptions, Usage, ready_events,
};

use super::repo::{GOOD, Repo};

/// Action of the agent in one turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Action {
    /// Writes this text, with tools or by returning the file.
    Write(&'static str),
    /// Writes the text that passes, and starts a process that writes another text until the agent ends.
    WriteInBackground(&'static str),
    /// Finishes without a change.
    NoChange,
    /// Answers with this text.
    Answer(&'static str),
    /// Fails, with an error that is recoverable or not.
    Fail { recoverable: bool },
    /// Fails because the provider limits the rate.
    RateLimited,
    /// Requests permission to write the text that passes, and waits for the decision.
    RequestPermission,
    /// Emits no more events until it is cancelled.
    Hang,
    /// Panics.
    Panic,
    /// Ends without a terminal event.
    EndWithoutResult,
    /// Reports that the session is invalid.
    LoseSession,
}

/// Returns the action for a turn, by the number of earlier turns.
pub(crate) type Script = Arc<dyn Fn(usize) -> Action + Send + Sync>;

/// The agent.
pub(crate) struct SimAgent {
    repo: Arc<Repo>,
    script: Script,
    /// The agent edits with tools.
    tools: bool,
    state: Arc<Mutex<AgentState>>,
}

/// Prompts and sessions of the agent.
#[derive(Debug, Default)]
pub(crate) struct AgentState {
    pub(crate) prompts: Vec<String>,
    /// Another agent can go on.
    pub(crate) has_alternative: bool,
    /// How the agent says that it changes files; with its tools if it says nothing.
    pub(crate) edit_mode: Option<EditMode>,
    /// For each prompt: whether a call was required, and whether the session had no tools.
    pub(crate) turns: Vec<(bool, bool)>,
    /// How many scopes were opened and not closed.
    pub(crate) open_scopes: usize,
    /// What a background process writes when the agent ends.
    background: Option<(PathBuf, &'static str)>,
    sessions: HashMap<SessionId, SimSession>,
}

#[derive(Debug, Clone)]
struct SimSession {
    root: PathBuf,
    approver: SessionApprover,
    without_tools: bool,
}

impl SimAgent {
    pub(crate) fn handle(
        repo: &Arc<Repo>,
        script: Script,
        tools: bool,
        state: &Arc<Mutex<AgentState>>,
    ) -> AgentHandle {
        let agent = Self {
            repo: Arc::clone(repo),
            script,
            tools,
            state: Arc::clone(state),
        };
        AgentHandle::wrap(agent).with_clock(Arc::clone(&repo.clock))
    }

    /// Performs an action and returns the events of the turn.
    fn perform(&self, action: Action, root: &Path, tools: bool) -> Vec<AgentEvent> {
        let end = |text: String| AgentEvent::Result {
            text,
            usage: Some(Usage {
                input_tokens: 10,
                output_tokens: 5,
                cost_usd: Some(0.5),
                ..Usage::default()
            }),
            metadata: serde_json::Value::Null,
        };
        match action {
            Action::Write(text) if tools => {
                self.repo.write(root, text);
                vec![
                    AgentEvent::Text("done".to_owned()),
                    end(format!("wrote {text}")),
                ]
            }
            Action::WriteInBackground(text) => {
                self.repo.write(root, GOOD);
                self.state.lock().unwrap().background = Some((root.to_owned(), text));
                vec![end("wrote good".to_owned())]
            }
            Action::Write(text) => {
                let path = if text == "outside" {
                    "../x"
                } else {
                    "src/lib.rs"
                };
                let files = json!([{ "path": path, "content": text, "action": "modify" }]);
                let generated = json!({ "files": files, "explanation": format!("wrote {text}") });
                let correction = json!({
                    "files": files,
                    "error_analysis": "it was wrong",
                    "fix_description": format!("wrote {text}"),
                });
                let state = self.state.lock().unwrap();
                let last = state.prompts.last().unwrap();
                let is_correction = last.contains("error_analysis");
                let answer = if is_correction { correction } else { generated };
                vec![end(answer.to_string())]
            }
            Action::NoChange if tools => vec![end("no change is needed".to_owned())],
            Action::NoChange => {
                vec![end(
                    json!({ "files": [], "explanation": "no change is needed" }).to_string(),
                )]
            }
            Action::Answer(text) => vec![end(text.to_owned())],
            Action::Fail { recoverable } => vec![AgentEvent::Error {
                code: ErrorCode::BackendError,
                message: "the model is overloaded".to_owned(),
                recoverable,
            }],
            Action::RateLimited => vec![AgentEvent::Error {
                code: ErrorCode::RateLimited,
                message: "too many requests".to_owned(),
                recoverable: true,
            }],
            Action::RequestPermission => vec![end("asked first".to_owned())],
            Action::LoseSession => vec![AgentEvent::SessionInvalid {
                reason: "unknown session".to_owned(),
            }],
            Action::Panic => panic!("a bug in the backend"),
            Action::Hang | Action::EndWithoutResult => Vec::new(),
        }
    }
}

impl AgentBackend for SimAgent {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            tools: self.tools,
            load_session: self.tools,
            ..Capabilities::default()
        }
    }

    fn edit_mode(&self, _: Option<&str>) -> EditMode {
        let mode = self.state.lock().unwrap().edit_mode;
        mode.unwrap_or(EditMode::Tools)
    }

    fn has_alternative(&self) -> bool {
        self.state.lock().unwrap().has_alternative
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(async move {
            let mut state = self.state.lock().unwrap();
            let id = SessionId::from(format!("session {}", state.sessions.len() + 1));
            let root = options.cwd.unwrap_or_default();
            let session = SimSession {
                root,
                approver: options.approver,
                without_tools: options.without_tools,
            };
            state.sessions.insert(id.clone(), session);
            Ok(id)
        })
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut state = self.state.lock().unwrap();
            let session = state.sessions.get_mut(id);
            let unknown = || Error::InvalidInput("the session does not exist".to_owned());
            session.ok_or_else(unknown)?.root = options.cwd.unwrap_or_default();
            Ok(())
        })
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async move {
            let (session, turn) = {
                let mut state = self.state.lock().unwrap();
                let session = state.sessions[id].clone();
                state
                    .turns
                    .push((prompt.requires_call, session.without_tools));
                state.prompts.push(prompt.text);
                (session, state.prompts.len() - 1)
            };
            let SimSession { root, approver, .. } = session;
            let tools = self.tools && !session.without_tools;
            let action = (self.script)(turn);
            if action == Action::RequestPermission {
                let decision = approver.0.unwrap().decide(permission_request()).await;
                if decision.as_deref() == Some("yes") {
                    self.repo.write(&root, GOOD);
                }
            }
            let duration = Duration::from_micros(u64::from(self.repo.faults.below(40_000_000)));
            self.repo.clock.sleep(duration).await;
            let events = ready_events(self.perform(action, &root, tools));
            Ok(match action {
                Action::Hang => {
                    Box::pin(events.chain(stream::pending::<BackendEvent>())) as EventStream
                }
                _ => events,
            })
        })
    }

    fn cancel<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn scoped(&self) -> Option<Arc<dyn AgentBackend>> {
        self.state.lock().unwrap().open_scopes += 1;
        Some(Arc::new(Self {
            repo: Arc::clone(&self.repo),
            script: Arc::clone(&self.script),
            tools: self.tools,
            state: Arc::clone(&self.state),
        }))
    }

    /// Takes some time, as ending a process tree does.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.repo.clock.sleep(Duration::from_millis(20)).await;
            let mut state = self.state.lock().unwrap();
            state.open_scopes -= 1;
            if let Some((root, text)) = state.background.take() {
                self.repo.write(&root, text);
            }
        })
    }
}

fn permission_request() -> PermissionRequest {
    PermissionRequest {
        id: "1".to_owned(),
        agent: "scripted".to_owned(),
        tool: "write".to_owned(),
        input: json!({ "path": "src/lib.rs" }),
        options: vec![PermissionOption {
            id: "yes".to_owned(),
            kind: PermissionKind::AllowOnce,
            label: "Yes".to_owned(),
        }],
        ..PermissionRequest::default()
    }
}
