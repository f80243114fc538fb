//! Executes a plan with any agent.

use serde_json::Value;
use windlass_core::{
    AgentEvent, AgentHandle, Error, ErrorCode, Prompt, Result, SessionId, SessionOptions,
};

/// The result of executing a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecSummary {
    /// The number of steps.
    pub steps: u32,
    /// The last text of the agent.
    pub last: String,
    /// `true` if the agent finished, `false` if it ran out of steps.
    pub is_finished: bool,
}

/// Sends the prompt to an agent in a new session and waits for the end of the turn.
pub async fn execute(
    agent: &AgentHandle,
    coder_prompt: impl Into<Prompt>,
    options: SessionOptions,
) -> Result<ExecSummary> {
    let session = agent.new_session(options).await?;
    execute_in(agent, &session, coder_prompt, |_| {}).await
}

/// Sends the prompt to an agent in this session and passes every event to `on_event`.
///
/// Running out of steps returns a summary, because there is work to show. Every other failure is an error.
pub async fn execute_in(
    agent: &AgentHandle,
    session: &SessionId,
    coder_prompt: impl Into<Prompt>,
    mut on_event: impl FnMut(&AgentEvent),
) -> Result<ExecSummary> {
    let mut events = agent.prompt(session, coder_prompt).await?;
    let mut counter = StepCounter::default();
    while let Some(event) = events.recv().await {
        on_event(&event);
        match event {
            AgentEvent::Result { text, metadata, .. } => {
                return Ok(ExecSummary {
                    steps: counter.total(&metadata),
                    last: if text.is_empty() { counter.text } else { text },
                    is_finished: metadata.get("limit_reached").is_none(),
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
            event => counter.on_event(event),
        }
    }
    let message = "the turn ended without a terminal event";
    Err(Error::agent(ErrorCode::BackendError, message))
}

/// Counts steps. A model agent emits an event for each step; for other agents the tool calls are counted.
#[derive(Default)]
struct StepCounter {
    steps: u32,
    tools: u32,
    /// The text since the last step started.
    text: String,
}

impl StepCounter {
    fn on_event(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Custom { kind, .. } if kind == "step" => {
                self.steps += 1;
                self.text.clear();
            }
            AgentEvent::ToolStart { .. } => self.tools += 1,
            AgentEvent::Text(text) => self.text.push_str(&text),
            _ => {}
        }
    }

    /// Returns the step count that the agent reports, otherwise the count of events.
    fn total(&self, metadata: &Value) -> u32 {
        let reported = ["steps", "num_turns"]
            .iter()
            .find_map(|key| metadata.get(*key)?.as_u64());
        let reported = reported.and_then(|steps| u32::try_from(steps).ok());
        reported.unwrap_or(self.steps.max(self.tools + 1))
    }
}
