//! A plan carried out, on any agent.

use serde_json::Value;
use windlass_core::{
    AgentEvent, AgentHandle, Error, ErrorCode, Prompt, Result, SessionId, SessionOptions,
};

/// What came of carrying out a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecSummary {
    /// How many steps it took.
    pub steps: u32,
    /// The last thing that the agent said.
    pub last: String,
    /// Whether the agent came to its end by itself. `false`: the steps ran out before.
    pub is_finished: bool,
}

/// Has an agent do what the prompt says, in a session of its own.
pub async fn execute(
    agent: &AgentHandle,
    coder_prompt: impl Into<Prompt>,
    options: SessionOptions,
) -> Result<ExecSummary> {
    let session = agent.new_session(options).await?;
    execute_in(agent, &session, coder_prompt, |_| {}).await
}

/// The same in this session, with somebody who watches every event.
///
/// Running out of steps is a summary, as there is something to show for it; every other failure is an error.
pub async fn execute_in(
    agent: &AgentHandle,
    session: &SessionId,
    coder_prompt: impl Into<Prompt>,
    mut watch: impl FnMut(&AgentEvent),
) -> Result<ExecSummary> {
    let mut events = agent.prompt(session, coder_prompt).await?;
    let mut count = StepCounter::default();
    while let Some(event) = events.recv().await {
        watch(&event);
        match event {
            AgentEvent::Result { text, metadata, .. } => {
                return Ok(ExecSummary {
                    steps: count.with(&metadata),
                    last: if text.is_empty() { count.words } else { text },
                    is_finished: true,
                });
            }
            AgentEvent::Error {
                code: ErrorCode::BudgetExceeded,
                message,
                ..
            } if count.is_exhausted(&message) => {
                return Ok(ExecSummary {
                    steps: count.steps,
                    last: if count.words.is_empty() {
                        message
                    } else {
                        count.words
                    },
                    is_finished: false,
                });
            }
            AgentEvent::Error {
                code: ErrorCode::Cancelled,
                ..
            } => return Err(Error::Cancelled),
            AgentEvent::Error { code, message, .. } => return Err(Error::agent(code, message)),
            AgentEvent::SessionInvalid { reason } => {
                return Err(Error::agent(ErrorCode::SessionOrphaned, reason));
            }
            event => count.on_event(event),
        }
    }
    let message = "the turn ended without saying how it ended";
    Err(Error::agent(ErrorCode::BackendError, message))
}

/// Steps as they are seen: a model agent counts them itself, of others the tools are counted.
#[derive(Default)]
struct StepCounter {
    steps: u32,
    tools: u32,
    /// What was said since the last step began.
    words: String,
}

impl StepCounter {
    fn on_event(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Custom { kind, .. } if kind == "step" => {
                self.steps += 1;
                self.words.clear();
            }
            AgentEvent::ToolStart { .. } => self.tools += 1,
            AgentEvent::Text(text) => self.words.push_str(&text),
            _ => {}
        }
    }

    /// The agent's own word, else what was seen.
    fn with(&self, metadata: &Value) -> u32 {
        let said = ["steps", "num_turns"]
            .iter()
            .find_map(|key| metadata.get(*key)?.as_u64());
        let said = said.and_then(|steps| u32::try_from(steps).ok());
        said.unwrap_or(self.steps.max(self.tools + 1))
    }

    fn is_exhausted(&self, message: &str) -> bool {
        message.contains(&format!("after {} steps", self.steps))
    }
}
