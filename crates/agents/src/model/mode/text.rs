//! Tool calls in the text of an answer.

use std::collections::VecDeque;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::{Map, Value};
use windlass_wire::{ModelEvent, ModelRequest, StopReason, TokenUsage, ToolInputKind};

use super::find_calls::{FoundCalls, find};
use super::{flatten, unusable};

/// The instructions for the model.
const INSTRUCTIONS: &str = include_str!("../prompts/text.md");
/// The most bytes of text that are searched for calls; text beyond them is ignored.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// How a text is handled that contains no valid call but an invalid one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnMalformedCall {
    /// It is plain text: the model has native tool calls.
    TreatAsText,
    /// It is an unusable answer: the model has no other way to call tools.
    Error,
}

/// Returns the request with its tools and calls rendered as text.
pub(super) fn prepare_request(mut request: ModelRequest) -> ModelRequest {
    let instructions = flatten::describe_tools(INSTRUCTIONS, &request.tools);
    request = flatten::flatten(request, flatten::CallFormat::Fence);
    request
        .instructions
        .push(windlass_wire::Text::new(instructions));
    request
}

/// Forwards an answer and converts a call in its text to a native call.
pub(super) fn extract_calls(
    events: BoxStream<'static, ModelEvent>,
    names: Vec<String>,
    on_malformed: OnMalformedCall,
) -> BoxStream<'static, ModelEvent> {
    let extractor = CallExtractor {
        events,
        names,
        on_malformed,
        text: String::new(),
        called: false,
        usage: None,
        stop: None,
        queue: VecDeque::new(),
    };
    stream::unfold(extractor, CallExtractor::next).boxed()
}

struct CallExtractor {
    events: BoxStream<'static, ModelEvent>,
    names: Vec<String>,
    on_malformed: OnMalformedCall,
    text: String,
    /// Whether the model made a native call.
    called: bool,
    usage: Option<TokenUsage>,
    stop: Option<StopReason>,
    queue: VecDeque<ModelEvent>,
}

impl CallExtractor {
    async fn next(mut self) -> Option<(ModelEvent, Self)> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some((event, self));
            }
            match self.events.next().await? {
                // The final events are held until the stop reason is known.
                ModelEvent::Usage(usage) => self.usage = Some(usage),
                ModelEvent::Stop { reason } => self.stop = Some(reason),
                ModelEvent::Done => self.end(),
                event => {
                    self.on_event(&event);
                    return Some((event, self));
                }
            }
        }
    }

    fn on_event(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::TextDelta { text } if self.text.len() + text.len() <= MAX_TEXT_BYTES => {
                self.text.push_str(text);
            }
            ModelEvent::ToolCallStart { .. } => self.called = true,
            _ => {}
        }
    }

    fn end(&mut self) {
        let found = if self.called {
            FoundCalls::NoCall
        } else {
            find(&self.text, &self.names)
        };
        let problem = match found {
            FoundCalls::One {
                name, arguments, ..
            } => {
                self.queue
                    .extend(call(&name, CallInput::Arguments(arguments)));
                self.stop = Some(StopReason::ToolUse);
                None
            }
            FoundCalls::Many => {
                Some("more than one call: make one, and wait for its result".to_owned())
            }
            FoundCalls::Malformed(problem) => Some(problem),
            FoundCalls::NoCall => None,
        };
        self.queue.extend(self.usage.map(ModelEvent::Usage));
        match problem.filter(|_| self.on_malformed == OnMalformedCall::Error) {
            Some(problem) => self.queue.push_back(ModelEvent::Error(unusable(problem))),
            None => {
                self.queue
                    .extend(self.stop.map(|reason| ModelEvent::Stop { reason }));
                self.queue.push_back(ModelEvent::Done);
            }
        }
    }
}

/// The input of a call.
pub(super) enum CallInput {
    /// JSON for a function.
    Arguments(Map<String, Value>),
    /// Text for a freeform tool.
    Freeform(String),
}

/// Returns a call as the events of a native call.
pub(super) fn call(name: &str, input: CallInput) -> [ModelEvent; 3] {
    let index = 0;
    let (kind, input) = match input {
        CallInput::Arguments(arguments) => (
            ToolInputKind::Function,
            Value::Object(arguments).to_string(),
        ),
        CallInput::Freeform(text) => (ToolInputKind::Freeform, text),
    };
    [
        ModelEvent::ToolCallStart {
            index,
            id: format!("call_{}", uuid::Uuid::new_v4().simple()),
            name: name.to_owned(),
            kind,
            signature: None,
        },
        ModelEvent::ToolCallDelta { index, input },
        ModelEvent::ToolCallEnd { index },
    ]
}
