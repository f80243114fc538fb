//! A structured call on an agent.

use std::time::Duration;

use super::{Error, StructuredAgentTask, StructuredAnswer, StructuredCall, ValidationPolicy};
use crate::{AgentEvent, AgentHandle, Prompt, Result, SessionId, SessionOptions};

/// What a call needs beside its task. The default is strict, with three rounds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallOptions {
    /// How the answer is judged.
    pub rules: ValidationPolicy,
    /// The time of each round. `None`: the handle's own limit.
    pub timeout: Option<Duration>,
    /// What the session is begun with, where the call begins one.
    pub session: SessionOptions,
}

/// Asks an agent until its answer fits the schema, or the rounds are used up.
///
/// Without a session the call begins one. A session that is given is used as it is: for native mode it must have
/// been begun with [`Dialog::session_options`]. Dropping the future stops the turn under way.
pub async fn call(
    handle: &AgentHandle,
    session: Option<&SessionId>,
    task: StructuredAgentTask,
    options: CallOptions,
) -> Result<StructuredAnswer, Error> {
    let mut dialog = StructuredCall::new(task, options.rules)?;
    let mut session = match session {
        Some(session) => session.clone(),
        None => {
            let begun = handle.new_session(dialog.session_options(options.session));
            begun.await.map_err(|error| dialog.error(error.into()))?
        }
    };
    loop {
        let turn = take_turn(handle, &mut session, &mut dialog, options.timeout);
        turn.await.map_err(|error| dialog.error(error.into()))?;
        if let Some(structured) = dialog.finish_turn()? {
            return Ok(structured);
        }
    }
}

/// One turn, heard to its end. The session is the one to go on in.
async fn take_turn(
    handle: &AgentHandle,
    session: &mut SessionId,
    dialog: &mut StructuredCall,
    timeout: Option<Duration>,
) -> Result<()> {
    let prompt = Prompt {
        text: dialog.prompt().to_owned(),
        timeout,
    };
    let mut turn = handle.prompt(session, prompt).await?;
    while let Some(event) = turn.recv().await {
        if let AgentEvent::SessionChanged { new_session_id } = &event {
            *session = new_session_id.as_str().into();
        }
        dialog.on_event(&event);
    }
    Ok(())
}
