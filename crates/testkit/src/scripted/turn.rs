//! One turn of an agent that plays a script: model answers and tool calls, until the model makes no
//! more calls.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use windlass_core::{
    AgentEvent, Clock, Error, ErrorCode, EventSink, EventStream, Usage, event_stream,
};
use windlass_scripted::script::{
    ErrorStatus, Fault, Intent, IntentKind, RequestFeatures, ScriptCursor, ScriptPart, ScriptTurn,
    ScriptedUsage,
};

use super::tools::{ScriptTools, ToolOutcome};
use super::{ScriptedSession, lock};

/// Maximum number of answers to one prompt; a script that needs more is in a loop.
const MAX_ANSWERS: usize = 100;

/// The state of one turn.
pub(super) struct ScriptedAgentTurn {
    pub(super) cursor: Arc<Mutex<ScriptCursor>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) session: ScriptedSession,
}

/// The outcome of one model answer.
enum StepOutcome {
    /// It called tools; these are their results.
    Tools(String),
    /// It was the last answer.
    Done(String),
    /// The script injected a fault.
    Fault(Fault),
}

impl ScriptedAgentTurn {
    /// Starts the turn; dropping the stream cancels it.
    pub(super) fn start(self, prompt: String) -> EventStream {
        event_stream(|sink| async move {
            let cancelled = self.session.cancelled.clone();
            let _cancel_on_drop = cancelled.clone().drop_guard();
            tokio::select! {
                () = self.run(prompt, &sink) => {}
                () = cancelled.cancelled() => {}
            }
        })
    }

    async fn run(&self, prompt: String, out: &EventSink) {
        let mut tools = match ScriptTools::open(&self.session).await {
            Ok(tools) => tools,
            Err(error) => return out.send(AgentEvent::from(error)).await,
        };
        let mut usage = Usage::default();
        let mut new_text = prompt;
        for _ in 0..MAX_ANSWERS {
            let turn = match self.next_turn(new_text, &tools) {
                Ok(turn) => turn,
                Err(error) => return out.send(AgentEvent::from(error)).await,
            };
            usage += &to_usage(turn.usage.unwrap_or_default());
            match self.answer(turn, &mut tools, out).await {
                StepOutcome::Tools(results) => new_text = results,
                StepOutcome::Done(text) => return out.send(result(text, usage)).await,
                StepOutcome::Fault(fault) => {
                    return match failure(&fault) {
                        Some(error) => out.send(AgentEvent::from(error)).await,
                        None => std::future::pending().await,
                    };
                }
            }
        }
        let message = format!("the script did not end after {MAX_ANSWERS} answers");
        let error = Error::agent(ErrorCode::BackendError, message);
        out.send(AgentEvent::from(error)).await;
    }

    /// Returns the next answer of the model.
    fn next_turn(&self, new_text: String, tools: &ScriptTools) -> Result<ScriptTurn, Error> {
        let mut answers = lock(&self.session.answers);
        *answers += 1;
        let features = RequestFeatures {
            new_text,
            tools: tools.names(),
            intents: IntentKind::NATIVE.to_vec(),
            turn: *answers,
        };
        let mut cursor = lock(&self.cursor);
        let found = cursor.find(&features).map_err(|why| {
            let message = format!("the script has no answer to this request: {why}");
            Error::agent(ErrorCode::BackendError, message)
        })?;
        cursor.mark_used(found);
        Ok(cursor.turn(found).cloned().unwrap_or_default())
    }

    async fn answer(
        &self,
        turn: ScriptTurn,
        tools: &mut ScriptTools,
        out: &EventSink,
    ) -> StepOutcome {
        if let Some(fault) = turn
            .fault
            .clone()
            .filter(|fault| !fault.comes_after_parts())
        {
            return StepOutcome::Fault(fault);
        }
        let mut text = String::new();
        let mut results = Vec::new();
        for part in turn.answer {
            if let Some(pause) = turn.delay_ms {
                self.clock.sleep(Duration::from_millis(pause)).await;
            }
            match part {
                ScriptPart::Text(chunk) => {
                    text.push_str(&chunk);
                    out.send(AgentEvent::Text(chunk)).await;
                }
                ScriptPart::Json(value) => {
                    text.push_str(&value.to_string());
                    out.send(AgentEvent::Text(value.to_string())).await;
                }
                ScriptPart::Reasoning(thought) => out.send(AgentEvent::Thought(thought)).await,
                ScriptPart::Wait(pause) => self.clock.sleep(pause).await,
                ScriptPart::Call(intent) => results.push(self.call(&intent, tools, out).await),
                _ => {}
            }
        }
        match turn.fault {
            Some(fault) => StepOutcome::Fault(fault),
            None if results.is_empty() => StepOutcome::Done(text),
            None => StepOutcome::Tools(results.join("\n")),
        }
    }

    /// Executes an intent, and reports the tool call.
    async fn call(&self, intent: &Intent, tools: &mut ScriptTools, out: &EventSink) -> String {
        let (id, name, input) = tools.announce(intent);
        let started = self.clock.elapsed();
        out.send(AgentEvent::ToolStart {
            id: id.clone(),
            name: name.clone(),
            input,
        })
        .await;
        let ToolOutcome { output, success } = tools.call(intent).await;
        let text = match &output {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let duration = self.clock.elapsed().saturating_sub(started);
        let end = AgentEvent::ToolEnd {
            id,
            name,
            output,
            success,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        };
        out.send(end).await;
        text
    }
}

fn result(text: String, usage: Usage) -> AgentEvent {
    AgentEvent::Result {
        text,
        usage: Some(usage),
        metadata: Value::Null,
    }
}

/// Converts the usage of the script. Cached tokens are counted separately.
fn to_usage(tokens: ScriptedUsage) -> Usage {
    Usage {
        input_tokens: tokens.input.saturating_sub(tokens.cached),
        output_tokens: tokens.output,
        cache_read_tokens: Some(tokens.cached),
        ..Usage::default()
    }
}

/// Returns the error that an agent would report for a fault of its model; `None` if the model
/// hangs.
fn failure(fault: &Fault) -> Option<Error> {
    let error = |code, message: &str| Some(Error::agent(code, message));
    match fault {
        Fault::Status(status) => Some(error_event(status)),
        Fault::Hang | Fault::HangMidStream => None,
        Fault::ContextOverflow => error(
            ErrorCode::BackendError,
            "the conversation is too long for the model",
        ),
        Fault::Cut => error(ErrorCode::BackendError, "the model's answer was truncated"),
        _ => error(ErrorCode::BackendError, "the model's answer is malformed"),
    }
}

fn error_event(status: &ErrorStatus) -> Error {
    let code = match status.code {
        401 | 403 => ErrorCode::AuthFailed,
        429 => ErrorCode::RateLimited,
        _ => ErrorCode::BackendError,
    };
    let message = status.message.clone();
    Error::Agent {
        code,
        message: message.unwrap_or_else(|| format!("the model returned status {}", status.code)),
        retry_after: status.retry_after_secs.map(Duration::from_secs),
    }
}
