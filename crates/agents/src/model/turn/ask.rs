//! Requests the answer of one step.

use futures::StreamExt;
use windlass_core::AgentEvent;
use windlass_wire::{
    ErrorKind, ModelError, ModelEvent, ModelRequest, ModelResponse, ResponseBuilder,
};

use super::ModelTurn;
use crate::model::request::StepKind;
use crate::model::{ToolMode, mode, request, window};

/// How often a request that is too large for the server is made smaller.
const MAX_SHORTENED: u32 = 4;

impl ModelTurn {
    /// Requests an answer from the model and forwards its text and reasoning while it is streamed. A request that is too large for the server is made smaller.
    pub(super) async fn request_answer(&mut self) -> Result<ModelResponse, ModelError> {
        let mut shortened = 0;
        loop {
            let (request, tool_mode) = self.build_request().await;
            let tokens = window::estimate(&request);
            let response = self.stream_answer(request, tool_mode).await;
            let is_too_large = |error: &ModelError| error.kind == ErrorKind::ContextOverflow;
            if shortened == MAX_SHORTENED || !response.as_ref().is_err_and(is_too_large) {
                return response;
            }
            shortened += 1;
            self.window = Some(tokens * 3 / 4);
        }
    }

    /// Builds the request of the next step, so that it fits into the context window.
    async fn build_request(&self) -> (ModelRequest, ToolMode) {
        let mut messages = self.session.history();
        messages.extend(self.new_messages.iter().cloned());
        let step = (self.problem.as_deref(), self.step_kind());
        let (mut request, tool_mode) = request::build(&self.shared, &self.session, messages, step);
        let window = match self.window {
            Some(window) => Some(window),
            None if window::may_not_fit(&request) => self.shared.window(&request.model).await,
            None => self.shared.settings.context_window,
        };
        if let Some(window) = window {
            window::fit(&mut request, window);
        }
        (request, tool_mode)
    }

    /// Returns what the current step may be.
    pub(super) fn step_kind(&self) -> StepKind {
        if self.budget.is_last_step(&self.spend) {
            StepKind::Last
        } else if self.required_calls > 0 {
            StepKind::Call
        } else {
            StepKind::Any
        }
    }

    /// Sends a request and forwards the text and reasoning of the answer.
    async fn stream_answer(
        &mut self,
        request: ModelRequest,
        tool_mode: ToolMode,
    ) -> Result<ModelResponse, ModelError> {
        let client = self.shared.client_for(&self.session.options.work);
        let mut events = mode::stream_request(&client, tool_mode, request);
        let mut builder = ResponseBuilder::default();
        let mut result = Ok(());
        while let Some(event) = events.next().await {
            match &event {
                ModelEvent::TextDelta { text } => {
                    self.out.send(AgentEvent::Text(text.clone())).await
                }
                ModelEvent::ReasoningDelta { text } => {
                    self.out.send(AgentEvent::Thought(text.clone())).await;
                }
                _ => {}
            }
            result = builder.push(&event);
            if event.is_terminal() {
                break;
            }
        }
        let response = builder.build();
        // A failed answer counts towards the usage too.
        if let Some(usage) = response.usage {
            self.spend.add(usage);
        }
        result.map(|()| response)
    }
}
