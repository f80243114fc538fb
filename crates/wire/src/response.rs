//! A whole answer, folded from its events and taken apart into them again.

use serde::{Deserialize, Serialize};

use crate::{
    ModelError, ModelEvent, Part, Reasoning, StopReason, TokenUsage, ToolCall, ToolInputKind,
};

/// A whole answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelResponse {
    /// The provider's name for this answer.
    pub id: String,
    /// The model that answered.
    pub model: String,
    /// What it said, thought and called, in order.
    pub parts: Vec<Part>,
    /// Why it stopped.
    pub stop: Option<StopReason>,
    /// What it consumed.
    pub usage: Option<TokenUsage>,
}

impl ModelResponse {
    /// Folds a whole stream; the error is the one that ended it.
    pub fn from_events<'a>(
        events: impl IntoIterator<Item = &'a ModelEvent>,
    ) -> Result<Self, ModelError> {
        let mut fold = ResponseBuilder::default();
        for event in events {
            fold.push(event)?;
        }
        Ok(fold.build())
    }

    /// The stream that folds into this answer, each part in one delta.
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

    /// The calls among the parts.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// All words, without thoughts and calls.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The reason, or the one that the parts imply: an answer with a call waits for its result.
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
        // No model answers with a picture or a result in any of the five APIs.
        Part::Image(_) | Part::ToolResult(_) => {}
    }
}

/// One call as its three events.
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

/// Folds events as they come.
#[derive(Debug, Default)]
pub struct ResponseBuilder {
    response: ModelResponse,
    /// Where in the parts each call stands.
    calls: Vec<(usize, usize)>,
    /// Whether the last part is a thought that may still grow.
    thinking: bool,
}

impl ResponseBuilder {
    /// Takes one event in; the error is the one that the event carries.
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

    /// The answer so far.
    pub fn response(&self) -> &ModelResponse {
        &self.response
    }

    /// The answer.
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

    /// Changes the thought that is open, or a new one.
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
        let place = self.calls.iter().rev().find(|(call, _)| *call == index);
        let part = place.and_then(|(_, at)| self.response.parts.get_mut(*at));
        if let Some(Part::ToolCall(call)) = part {
            call.input.push_str(delta);
        }
    }
}
