//! Makes a script of recorded exchanges, so that the same agent runs again without the model.

use axum::http::Method;
use serde_json::Value;
use windlass_cassette::Exchange;
use windlass_wire::{
    Dialect, ModelEvent, ModelRequest, Part, ResponseBuilder, Route, StreamDecoder, TokenUsage,
    ToolCall, ToolInputKind,
};

use crate::intent::{NAMESPACE, OfferedTools};
use crate::request_features::request_features;
use crate::script::{
    ErrorStatus, Fault, Intent, Matcher, Script, ScriptPart, ScriptTurn, ScriptedUsage,
};
use crate::side::{endpoint, side_call};

/// The first status that is an error.
const FIRST_ERROR: u16 = 400;

impl Script {
    /// Makes a script of recorded exchanges. Each response becomes a turn for the same position in a conversation. Side
    /// calls, such as requests for a title, become none: a scripted model answers them itself.
    pub fn from_exchanges<'a>(
        exchanges: impl IntoIterator<Item = &'a Exchange>,
    ) -> Result<Self, RecordedScriptError> {
        let mut turns = Vec::new();
        for (exchange, number) in exchanges.into_iter().zip(1..) {
            let Some((dialect, request)) = model_request(exchange) else {
                continue;
            };
            let offered = OfferedTools::new(&request, None);
            let turn = request_features(&request, &offered).turn;
            let answer = scripted_turn(exchange, dialect)
                .map_err(|problem| RecordedScriptError { number, problem })?;
            turns.push(ScriptTurn {
                when: Matcher {
                    turn: Some(turn),
                    ..Matcher::default()
                },
                times: 1,
                ..answer
            });
        }
        Ok(Self {
            turns,
            ..Self::default()
        })
    }
}

/// A response that no script can express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("model call {number}: {problem}")]
pub struct RecordedScriptError {
    /// The number of the exchange, counted from 1.
    number: usize,
    problem: &'static str,
}

/// Returns the request of an exchange that uses a turn of a script.
fn model_request(exchange: &Exchange) -> Option<(Dialect, ModelRequest)> {
    let body = match &exchange.body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let method: Method = exchange.method.parse().ok()?;
    let path = exchange.path.split('?').next().unwrap_or_default();
    if endpoint(&method, path, body.len()).is_some() {
        return None;
    }
    let route = Route::parse(&exchange.path)?;
    let request = route.parse_request(body.as_bytes()).ok()?;
    side_call(&request)
        .is_none()
        .then_some((route.dialect, request))
}

fn scripted_turn(exchange: &Exchange, dialect: Dialect) -> Result<ScriptTurn, &'static str> {
    let chunks = exchange.chunks.iter().map(|chunk| chunk.text.as_str());
    let body: String = chunks.collect();
    if exchange.status >= FIRST_ERROR {
        return Ok(ScriptTurn::failing(fault(exchange, dialect, &body)));
    }
    let mut response = ResponseBuilder::default();
    let mut is_complete = false;
    for event in events(exchange, dialect, &body) {
        is_complete |= event == ModelEvent::Done;
        if response.push(&event).is_err() {
            break;
        }
    }
    let response = response.build();
    let mut answer = Vec::new();
    for part in response.parts {
        answer.extend(script_part(part)?);
    }
    if answer.is_empty() && is_complete {
        answer.push(ScriptPart::text(""));
    }
    Ok(ScriptTurn {
        answer,
        fault: (!is_complete).then_some(Fault::Cut),
        usage: response.usage.map(scripted_usage),
        ..ScriptTurn::default()
    })
}

/// Returns the events of a response, with an error at the end if it is incomplete.
fn events(exchange: &Exchange, dialect: Dialect, body: &str) -> Vec<ModelEvent> {
    let kind = exchange.headers.get("content-type");
    let kind = kind.map_or("", String::as_str).to_ascii_lowercase();
    let is_stream = kind.contains("event-stream") || kind.contains("ndjson");
    if is_stream || body.trim_start().starts_with('[') {
        let mut decoder = StreamDecoder::new(dialect);
        let mut events = decoder.push(body.as_bytes());
        events.extend(decoder.finish());
        return events;
    }
    match dialect.parse_response(body.as_bytes()) {
        Ok(events) => events,
        Err(error) => vec![ModelEvent::Error(error)],
    }
}

/// Returns the error that the response is.
fn fault(exchange: &Exchange, dialect: Dialect, body: &str) -> Fault {
    let headers: Vec<(&str, &str)> = exchange
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let error = dialect.parse_error(exchange.status, &headers, body.as_bytes());
    Fault::Status(ErrorStatus {
        code: exchange.status,
        retry_after_secs: error.retry_after.map(|wait| wait.as_secs()),
        message: Some(error.message),
    })
}

fn script_part(part: Part) -> Result<Option<ScriptPart>, &'static str> {
    Ok(Some(match part {
        Part::Text(text) => ScriptPart::Text(text.text),
        Part::Reasoning(reasoning) if !reasoning.text.is_empty() => {
            ScriptPart::Reasoning(reasoning.text)
        }
        Part::ToolCall(call) => ScriptPart::Call(intent(call)),
        Part::Opaque(opaque) if opaque.value.get(NAMESPACE).is_some() => {
            return Err("it calls a tool of an MCP server in a way that only Codex understands");
        }
        _ => return Ok(None),
    }))
}

/// Returns a call by the agent's own name for the tool.
fn intent(call: ToolCall) -> Intent {
    let arguments = match call.kind {
        ToolInputKind::Freeform => Value::String(call.input),
        ToolInputKind::Function if call.input.trim().is_empty() => Value::Null,
        ToolInputKind::Function => match serde_json::from_str(&call.input) {
            Ok(arguments) => arguments,
            // A model can write invalid JSON.
            Err(_) => Value::String(call.input),
        },
    };
    Intent::Raw {
        name: call.name,
        arguments,
    }
}

fn scripted_usage(usage: TokenUsage) -> ScriptedUsage {
    ScriptedUsage {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cached: usage.cache_read_tokens,
        reasoning: usage.reasoning_tokens,
    }
}
