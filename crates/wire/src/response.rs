//! A complete response, built from its events and split into them again.

use serde::{Deserialize, Serialize};

use crate::{
    ModelError, ModelEvent, Part, Reasoning, StopReason, TokenUsage, ToolCall, ToolInputKind,
};

/// A complete response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelResponse {
    /// The provider's id of the response.
    pub id: String,
    /// The model that responded.
    pub model: String,
    /// Text, reasoning and calls, in order.
    pub parts: Vec<Part>,
    /// The reason why the model stopped.
    pub stop: Option<StopReason>,
    /// The token usage.
    pub usage: Option<TokenUsage>,
}

impl ModelResponse {
    /// Builds a response from a complete stream. Returns the error that ended the stream, if any.
    pub fn from_events<'a>(
        events: impl IntoIterator<Item = &'a ModelEvent>,
    ) -> Result<Self, ModelError> {
        let mut builder = ResponseBuilder::default();
        for event in events {
            builder.push(event)?;
        }
        Ok(builder.build())
    }

    /// Returns a stream that builds this response, with one delta per part.
    pub fn to_events(&self) -> Vec<ModelEvent> {
        let mut events = vec![ModelEvent::Start {
            id: self.id.clone(),
            model: self.model.clone(),
        }];
        let mut calls = 0;
        for part in &self.parts {
            push_part(part, &mut calls, &mut events);
        }
        events.extend(self.usage.map(ModelEvent::Usage));
        events.extend(self.stop.map(|reason| ModelEvent::Stop { reason }));
        events.push(ModelEvent::Done);
        events
    }

    /// Returns the calls among the parts.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns all text, without reasoning and calls.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the stop reason, or the one implied by the parts: a response with a call waits for its result.
    pub fn stop_or_implied(&self) -> StopReason {
        match self.stop {
            Some(reason) => reason,
            None if self.calls().next().is_some() => StopReason::ToolUse,
            None => StopReason::EndTurn,
        }
    }
}

fn push_part(part: &Part, calls: &mut usize, events: &mut Vec<ModelEvent>) {
    match part {
        Part::Text(text) => events.push(ModelEvent::TextDelta {
            text: text.text.clone(),
        }),
        Part::Reasoning(reasoning) => {
            if !reasoning.text.is_empty() {
                let text = reasoning.text.clone();
                events.push(ModelEvent::ReasoningDelta { text });
            }
            events.push(ModelEvent::ReasoningEnd {
                signature: reasoning.signature.clone(),
                redacted: reasoning.redacted,
            });
        }
        Part::ToolCall(call) => {
            events.extend(call_events(*calls, call));
            *calls += 1;
        }
        Part::Opaque(opaque) => events.push(ModelEvent::Opaque(opaque.clone())),
        // No model responds with an image or a result in any of the five APIs.
        Part::Image(_) | Part::ToolResult(_) => {}
    }
}

/// Returns the three events of a call.
pub(crate) fn call_events(index: usize, call: &ToolCall) -> [ModelEvent; 3] {
    [
        ModelEvent::ToolCallStart {
            index,
            id: call.id.clone(),
            name: call.name.clone(),
            kind: call.kind,
            signature: call.signature.clone(),
        },
        ModelEvent::ToolCallDelta {
            index,
            input: call.input.clone(),
        },
        ModelEvent::ToolCallEnd { index },
    ]
}

/// Builds a response from events as they arrive.
#[derive(Debug, Default)]
pub struct ResponseBuilder {
    response: ModelResponse,
    /// The position of each call in the parts, by its index.
    calls: Vec<(usize, usize)>,
    /// `true` if the last part is reasoning that may still grow.
    thinking: bool,
}

impl ResponseBuilder {
    /// Adds one event. Returns the error if the event is one.
    pub fn push(&mut self, event: &ModelEvent) -> Result<(), ModelError> {
        let thinking = std::mem::take(&mut self.thinking);
        match event {
            ModelEvent::Start { id, model } => {
                self.response.id.clone_from(id);
                self.response.model.clone_from(model);
            }
            ModelEvent::TextDelta { text } => self.text(text),
            ModelEvent::ReasoningDelta { text } => {
                self.reasoning(thinking, |part| part.text.push_str(text));
                self.thinking = thinking || !text.is_empty();
            }
            ModelEvent::ReasoningEnd {
                signature,
                redacted,
            } => self.reasoning(thinking && !redacted, |part| {
                part.signature.clone_from(signature);
                part.redacted = *redacted;
            }),
            ModelEvent::ToolCallStart {
                index,
                id,
                name,
                kind,
                signature,
            } => self.call(*index, id, name, *kind, signature.clone()),
            ModelEvent::ToolCallDelta { index, input } => self.input(*index, input),
            ModelEvent::Opaque(opaque) => self.response.parts.push(Part::Opaque(opaque.clone())),
            ModelEvent::Usage(usage) => self.response.usage = Some(*usage),
            ModelEvent::Stop { reason } => self.response.stop = Some(*reason),
            ModelEvent::Error(error) => return Err(error.clone()),
            ModelEvent::ToolCallEnd { .. } | ModelEvent::Done => {}
        }
        Ok(())
    }

    /// Returns the response built so far.
    pub fn response(&self) -> &ModelResponse {
        &self.response
    }

    /// Returns the finished response.
    pub fn build(self) -> ModelResponse {
        self.response
    }

    fn text(&mut self, delta: &str) {
        if let Some(Part::Text(last)) = self.response.parts.last_mut() {
            last.text.push_str(delta);
        } else if !delta.is_empty() {
            self.response.parts.push(Part::text(delta));
        }
    }

    /// Changes the open reasoning part, or appends a new one.
    fn reasoning(&mut self, open: bool, change: impl FnOnce(&mut Reasoning)) {
        if let (true, Some(Part::Reasoning(last))) = (open, self.response.parts.last_mut()) {
            return change(last);
        }
        let mut new = Reasoning::default();
        change(&mut new);
        if new != Reasoning::default() {
            self.response.parts.push(Part::Reasoning(new));
        }
    }

    fn call(
        &mut self,
        index: usize,
        id: &str,
        name: &str,
        kind: ToolInputKind,
        signature: Option<String>,
    ) {
        self.calls.push((index, self.response.parts.len()));
        self.response.parts.push(Part::ToolCall(ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            kind,
            signature,
            ..ToolCall::default()
        }));
    }

    fn input(&mut self, index: usize, delta: &str) {
        let entry = self.calls.iter().rev().find(|(call, _)| *call == index);
        let part = entry.and_then(|(_, at)| self.response.parts.get_mut(*at));
        if let Some(Part::ToolCall(call)) = part {
            call.input.push_str(delta);
        }
    }
}
