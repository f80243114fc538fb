//! A structured call on an agent.

use std::time::Duration;

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
    let mut call = StructuredCall::new(task, options.rules)?;
    let mut session = match session {
        Some(session) => session.clone(),
        None => {
            let started = handle.new_session(call.session_options(options.session));
            started.await.map_err(|error| call.error(error.into()))?
        }
    };
    loop {
        let turn = take_turn(handle, &mut session, &mut call, options.timeout);
        turn.await.map_err(|error| call.error(error.into()))?;
        if let Some(structured) = call.finish_turn()? {
            return Ok(structured);
        }
    }
}

/// Runs one turn to its end. Updates the session if the agent continues in another one.
async fn take_turn(
    handle: &AgentHandle,
    session: &mut SessionId,
    call: &mut StructuredCall,
    timeout: Option<Duration>,
) -> Result<()> {
    let prompt = Prompt {
        text: call.prompt().to_owned(),
        timeout,
    };
    let mut turn = handle.prompt(session, prompt).await?;
    while let Some(event) = turn.recv().await {
        if let AgentEvent::SessionChanged { new_session_id } = &event {
            *session = new_session_id.as_str().into();
        }
        call.on_event(&event);
    }
    Ok(())
}
