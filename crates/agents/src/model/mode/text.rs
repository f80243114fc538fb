//! Calls that stand in the text of an answer.

use std::collections::VecDeque;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::{Map, Value};
use windlass_wire::{ModelEvent, ModelRequest, StopReason, TokenUsage, ToolCall, ToolInputKind};

use super::find_calls::{FoundCalls, find};
use super::{flatten, unusable};

/// What the model is told about how to call.
const INSTRUCTIONS: &str = include_str!("../prompts/text.md");
/// How much of a text is kept to look for calls in; a longer one holds none.
const TEXT_BYTES: usize = 4 << 20;

/// What becomes of a text that holds no call but something like one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnMalformedCall {
    /// It is prose: the model has calls of its own.
    TreatAsText,
    /// It is an answer that cannot be used: the model has no other way.
    Error,
}

/// The request with its tools and calls put into words.
pub(super) fn prepare_request(mut request: ModelRequest) -> ModelRequest {
    let how = flatten::describe_tools(INSTRUCTIONS, &request.tools);
    request = flatten::flatten(request, flatten::CallFormat::Fence);
    request.instructions.push(windlass_wire::Text::new(how));
    request
}

/// Passes an answer on, and makes the call that its text holds one of its own.
pub(super) fn extract_calls(
    events: BoxStream<'static, ModelEvent>,
    names: Vec<String>,
    tolerance: OnMalformedCall,
) -> BoxStream<'static, ModelEvent> {
    let watcher = CallExtractor {
        events,
        names,
        tolerance,
        text: String::new(),
        called: false,
        usage: None,
        stop: None,
        queue: VecDeque::new(),
    };
    stream::unfold(watcher, CallExtractor::next).boxed()
}

struct CallExtractor {
    events: BoxStream<'static, ModelEvent>,
    names: Vec<String>,
    tolerance: OnMalformedCall,
    text: String,
    /// Whether the model made a call of its own.
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
                // What ends an answer waits until it is clear how it ends.
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
            ModelEvent::TextDelta { text } if self.text.len() + text.len() <= TEXT_BYTES => {
                self.text.push_str(text);
            }
            ModelEvent::ToolCallStart { .. } => self.called = true,
            _ => {}
        }
    }

    fn end(&mut self) {
        let found = match self.called {
            true => FoundCalls::NoCall,
            false => find(&self.text, &self.names),
        };
        let problem = match found {
            FoundCalls::One {
                name, arguments, ..
            } => {
                self.queue.extend(call(&name, arguments));
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
        match problem.filter(|_| self.tolerance == OnMalformedCall::Error) {
            Some(problem) => self.queue.push_back(ModelEvent::Error(unusable(problem))),
            None => {
                self.queue
                    .extend(self.stop.map(|reason| ModelEvent::Stop { reason }));
                self.queue.push_back(ModelEvent::Done);
            }
        }
    }
}

/// A call as the events that a model with calls of its own would have sent.
pub(super) fn call(name: &str, arguments: Map<String, Value>) -> [ModelEvent; 3] {
    let index = 0;
    let call = ToolCall {
        name: name.to_owned(),
        kind: ToolInputKind::Function,
        input: Value::Object(arguments).to_string(),
        ..ToolCall::default()
    };
    [
        ModelEvent::ToolCallStart {
            index,
            id: format!("call_{}", uuid::Uuid::new_v4().simple()),
            name: call.name,
            kind: call.kind,
            signature: None,
        },
        ModelEvent::ToolCallDelta {
            index,
            input: call.input,
        },
        ModelEvent::ToolCallEnd { index },
    ]
}
