//! A structured call on an agent.

use std::convert::Infallible;
use std::time::Duration;

use super::driver::{Round, TurnFailure, TurnRunner};
use super::{Error, StructuredAgentTask, StructuredAnswer, StructuredCall, ValidationPolicy};
use crate::{AgentEvent, AgentHandle, Prompt, Result, SessionId, SessionOptions};

/// The options of a structured call. The default is strict validation with three rounds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallOptions {
    /// How the answer is validated.
    pub rules: ValidationPolicy,
    /// The time limit of each round. `None` selects the handle's limit.
    pub timeout: Option<Duration>,
    /// The options of the session, if the call starts one.
    pub session: SessionOptions,
}

/// Prompts an agent until its answer matches the schema or the rounds are exhausted.
///
/// Without a session the call starts one. A given session is used as is: for native mode it must have been
/// started with [`StructuredCall::session_options`]. Dropping the future stops the running turn.
pub async fn call(
    handle: &AgentHandle,
    session: Option<&SessionId>,
    task: StructuredAgentTask,
    options: CallOptions,
) -> Result<StructuredAnswer, Error> {
    let call = StructuredCall::new(task, options.rules)?;
    let session = match session {
        Some(session) => session.clone(),
        None => {
            let started = handle.new_session(call.session_options(options.session));
            started.await.map_err(|error| call.error(error.into()))?
        }
    };
    let mut turns = SessionTurns {
        handle,
        session,
        timeout: options.timeout,
    };
    let Ok(result) = call.run(&mut turns).await;
    result
}

/// Runs the turns in one session.
struct SessionTurns<'a> {
    handle: &'a AgentHandle,
    session: SessionId,
    timeout: Option<Duration>,
}

impl TurnRunner for SessionTurns<'_> {
    type Stop = Infallible;

    /// Runs one turn to its end. Updates the session if the agent continues in another one.
    async fn run_turn(&mut self, round: &mut Round<'_>) -> Result<(), TurnFailure<Infallible>> {
        let prompt = Prompt {
            text: round.prompt().to_owned(),
            timeout: self.timeout,
            ..Prompt::default()
        };
        let mut turn = self.handle.prompt(&self.session, prompt).await?;
        while let Some(event) = turn.recv().await {
            if let AgentEvent::SessionChanged { new_session_id } = &event {
                self.session = new_session_id.as_str().into();
            }
            round.on_event(&event);
        }
        Ok(())
    }
}
