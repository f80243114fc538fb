//! Runs one prompt as a turn of the session's agent.

use std::time::Duration;

use agent_client_protocol::Error as ProtocolError;
use agent_client_protocol::v1::schema::{PromptResponse, StopReason};
use serde_json::json;
use tokio::time::Instant;
use windlass_core::{AgentEvent, EventReceiver, SessionId, Usage};

use crate::content;
use crate::error;
use crate::paths::Paths;
use crate::permission::TurnWriter;
use crate::session::{AgentConversation, RunningTurn, Session, TurnSignals};
use crate::updates::UpdateWriter;

/// How long an agent may take to end a cancelled turn. Then its processes are killed.
pub(crate) const CANCEL_WAIT: Duration = Duration::from_millis(700);

/// Runs the prompt to its end.
pub(crate) async fn run(turn: &RunningTurn, text: String) -> Result<PromptResponse, ProtocolError> {
    let RunningTurn {
        session,
        number,
        signals,
    } = turn;
    let conversation = tokio::select! {
        biased;
        () = signals.cancel.cancelled() => return Ok(PromptResponse::new(StopReason::Cancelled)),
        conversation = session.conversation() => {
            conversation.map_err(|error| error::to_protocol(&error))?
        }
    };
    let writer = TurnWriter::new(UpdateWriter::new(*number, Paths::in_dir(&session.cwd)));
    *session.turn_writer.lock() = Some(writer.clone());
    let AgentConversation {
        handle,
        session: id,
        ..
    } = &conversation;
    let events = handle.prompt(id, text).await;
    let events = events.map_err(|error| error::to_protocol(&error))?;
    let end = follow(session, &conversation, events, &writer, signals).await;
    let open_tools = writer.writer.lock().end_open_tools();
    for update in open_tools {
        session.send(update).await;
    }
    let Some(end) = end else {
        return Ok(PromptResponse::new(StopReason::Cancelled));
    };
    respond(&end)
}

/// Sends the events of the turn to the client. Returns the terminal event, or `None` if the turn was cancelled.
async fn follow(
    session: &Session,
    conversation: &AgentConversation,
    mut events: EventReceiver,
    writer: &TurnWriter,
    signals: &TurnSignals,
) -> Option<AgentEvent> {
    let mut id = conversation.session.clone();
    let mut kill_at: Option<Instant> = None;
    let end = loop {
        let kill = async {
            match kill_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let event = tokio::select! {
            biased;
            // Dropping the receiver kills the agent.
            () = kill => break None,
            () = signals.cancel.cancelled(), if kill_at.is_none() => {
                kill_at = Some(Instant::now() + CANCEL_WAIT);
                let _ = conversation.handle.cancel(&conversation.session).await;
                continue;
            }
            event = events.recv() => event,
        };
        let Some(event) = event else { break None };
        match &event {
            AgentEvent::SessionChanged { new_session_id } => {
                id = SessionId::from(new_session_id.as_str());
            }
            AgentEvent::PermissionRequest { id, .. } => writer.mark_seen(id),
            _ => {}
        }
        let updates = writer.writer.lock().updates(&event);
        let send = async {
            for update in updates {
                session.send(update).await;
            }
        };
        // A client that does not read must not prevent the end of a cancelled turn.
        tokio::select! {
            () = send => {}
            () = signals.stop.cancelled() => break None,
        }
        if event.is_terminal() {
            break Some(event);
        }
    };
    let is_lost = matches!(end, Some(AgentEvent::SessionInvalid { .. }));
    session.set_backend((!is_lost).then_some(id)).await;
    end.filter(|end| !is_cancelled(end))
}

fn is_cancelled(event: &AgentEvent) -> bool {
    let cancelled = windlass_core::ErrorCode::Cancelled;
    matches!(event, AgentEvent::Error { code, .. } if *code == cancelled)
}

/// Returns the response to the prompt: the end of the turn, or its error.
fn respond(end: &AgentEvent) -> Result<PromptResponse, ProtocolError> {
    if let Some(error) = error::of_event(end) {
        return Err(error);
    }
    let AgentEvent::Result {
        usage, metadata, ..
    } = end
    else {
        return Ok(PromptResponse::new(StopReason::EndTurn));
    };
    let reason = match metadata["stop_reason"].as_str() {
        Some("max_tokens") => StopReason::MaxTokens,
        Some("max_turn_requests") => StopReason::MaxTurnRequests,
        _ => StopReason::EndTurn,
    };
    let mut response = PromptResponse::new(reason).usage(usage.as_ref().map(content::usage));
    response.meta = usage.as_ref().and_then(cost);
    Ok(response)
}

/// Returns the cost of the turn, for which the response has no field.
fn cost(usage: &Usage) -> Option<serde_json::Map<String, serde_json::Value>> {
    let cost = usage.cost_usd?;
    let fields = [("windlass".to_owned(), json!({ "costUsd": cost }))];
    Some(fields.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use windlass_core::{Error, ErrorCode};

    use super::*;

    #[test]
    fn response_has_reason_usage_and_cost() {
        let usage = Usage {
            input_tokens: 1,
            output_tokens: 2,
            cost_usd: Some(0.5),
            ..Usage::default()
        };
        let end = AgentEvent::Result {
            text: String::new(),
            usage: Some(usage),
            metadata: json!({ "stop_reason": "max_tokens" }),
        };
        let response = serde_json::to_value(respond(&end).unwrap()).unwrap();
        assert_eq!(
            response,
            json!({
                "stopReason": "max_tokens",
                "usage": { "totalTokens": 3, "inputTokens": 1, "outputTokens": 2 },
                "_meta": { "windlass": { "costUsd": 0.5 } },
            })
        );
        let failed = AgentEvent::from(Error::agent(ErrorCode::AuthFailed, "log in"));
        assert_eq!(respond(&failed).unwrap_err().code.value(), -32000);
        assert!(is_cancelled(&Error::Cancelled.into()));
    }
}
