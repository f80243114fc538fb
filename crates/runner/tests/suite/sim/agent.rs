//! An agent that does in each turn what a script says.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use serde_json::json;
use windlass_core::permission::SessionApprover;
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, BackendEvent, Capabilities, Error, ErrorCode,
    EventStream, PermissionKind, PermissionOption, PermissionRequest, Prompt, Result, SessionId,
    SessionOptions, Usage, ready_events,
};

use super::place::{GOOD, Repo};

/// What the agent does in one turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Act {
    /// Writes this text, by itself or by giving the file back.
    Write(&'static str),
    /// Says that it is done, and is not.
    Nothing,
    /// Answers with this text.
    Say(&'static str),
    /// Fails; trying again may help or not.
    Fail { recoverable: bool },
    /// Is told to come back later.
    Limited,
    /// Asks whether it may write the text that passes, and waits for the answer.
    Ask,
    /// Says nothing more until it is cancelled.
    Hang,
    /// Panics.
    Panic,
    /// Ends without a word.
    Vanish,
    /// Has lost the session.
    Orphan,
}

/// Decides what the agent does, given how many turns it has had.
pub(crate) type Script = Arc<dyn Fn(usize) -> Act + Send + Sync>;

/// The agent.
pub(crate) struct SimAgent {
    repo: Arc<Repo>,
    script: Script,
    /// Whether it edits by itself.
    tools: bool,
    state: Arc<Mutex<State>>,
}

/// What was asked of it.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) prompts: Vec<String>,
    sessions: HashMap<SessionId, (PathBuf, SessionApprover)>,
}

impl SimAgent {
    pub(crate) fn handle(
        repo: &Arc<Repo>,
        script: Script,
        tools: bool,
        state: &Arc<Mutex<State>>,
    ) -> AgentHandle {
        let agent = Self {
            repo: Arc::clone(repo),
            script,
            tools,
            state: Arc::clone(state),
        };
        AgentHandle::wrap(agent).with_clock(Arc::clone(&repo.clock))
    }

    /// What the turn ends with.
    fn act(&self, act: Act, root: &Path) -> Vec<AgentEvent> {
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
        match act {
            Act::Write(text) if self.tools => {
                self.repo.write(root, text);
                vec![
                    AgentEvent::Text("done".to_owned()),
                    end(format!("wrote {text}")),
                ]
            }
            Act::Write(text) => {
                let path = if text == "outside" {
                    "../x"
                } else {
                    "src/lib.rs"
                };
                let files = json!([{ "path": path, "content": text, "action": "modify" }]);
                let said = json!({ "files": files, "explanation": format!("wrote {text}") });
                let mended = json!({
                    "files": files,
                    "error_analysis": "it was wrong",
                    "fix_description": format!("wrote {text}"),
                });
                let corrects = self
                    .state
                    .lock()
                    .unwrap()
                    .prompts
                    .last()
                    .unwrap()
                    .contains("error_analysis");
                vec![end(if corrects { mended } else { said }.to_string())]
            }
            Act::Nothing if self.tools => vec![end("all is well already".to_owned())],
            Act::Nothing => {
                vec![end(
                    json!({ "files": [], "explanation": "all is well already" }).to_string(),
                )]
            }
            Act::Say(text) => vec![end(text.to_owned())],
            Act::Fail { recoverable } => vec![AgentEvent::Error {
                code: ErrorCode::BackendError,
                message: "the model is overloaded".to_owned(),
                recoverable,
            }],
            Act::Limited => vec![AgentEvent::Error {
                code: ErrorCode::RateLimited,
                message: "too many requests".to_owned(),
                recoverable: true,
            }],
            Act::Ask => vec![end("asked first".to_owned())],
            Act::Orphan => vec![AgentEvent::SessionInvalid {
                reason: "never heard of it".to_owned(),
            }],
            Act::Panic => panic!("a bug in the backend"),
            Act::Hang | Act::Vanish => Vec::new(),
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
            ..Capabilities::default()
        }
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(async move {
            let mut state = self.state.lock().unwrap();
            let id = SessionId::from(format!("session {}", state.sessions.len() + 1));
            let root = options.cwd.unwrap_or_default();
            state.sessions.insert(id.clone(), (root, options.approver));
            Ok(id)
        })
    }

    fn load_session<'a>(
        &'a self,
        _: &'a SessionId,
        _: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Err(Error::InvalidInput("not this one".to_owned())) })
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async move {
            let ((root, approver), turn) = {
                let mut state = self.state.lock().unwrap();
                state.prompts.push(prompt.text);
                (state.sessions[id].clone(), state.prompts.len() - 1)
            };
            let act = (self.script)(turn);
            if act == Act::Ask {
                let asked = approver.0.unwrap().decide(question()).await;
                if asked.as_deref() == Some("yes") {
                    self.repo.write(&root, GOOD);
                }
            }
            let seconds = Duration::from_micros(u64::from(self.repo.faults.below(40_000_000)));
            self.repo.clock.sleep(seconds).await;
            let said = ready_events(self.act(act, &root));
            Ok(match act {
                Act::Hang => Box::pin(said.chain(stream::pending::<BackendEvent>())) as EventStream,
                _ => said,
            })
        })
    }

    fn cancel<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

fn question() -> PermissionRequest {
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
