//! Masks events, errors and permission requests.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::Masker;
use crate::permission::{Approver, PermissionRequest};
use crate::{AgentEvent, Error};

impl Masker {
    /// Masks all text of an event in place. The ids of tools, requests and sessions do not change.
    pub fn event(&self, event: &mut AgentEvent) {
        match event {
            AgentEvent::Text(text) | AgentEvent::Thought(text) => self.string(text),
            AgentEvent::Plan { entries } => {
                entries
                    .iter_mut()
                    .for_each(|entry| self.string(&mut entry.step));
            }
            AgentEvent::ToolStart { name, input, .. } => {
                self.string(name);
                self.value(input);
            }
            AgentEvent::ToolProgress { update, .. } => self.value(update),
            AgentEvent::ToolEnd { name, output, .. } => {
                self.string(name);
                self.value(output);
            }
            AgentEvent::PermissionRequest {
                tool,
                input,
                options,
                ..
            } => {
                self.string(tool);
                self.value(input);
                options
                    .iter_mut()
                    .for_each(|option| self.string(&mut option.label));
            }
            AgentEvent::Result { text, metadata, .. } => {
                self.string(text);
                self.value(metadata);
            }
            AgentEvent::Error { message, .. } => self.string(message),
            AgentEvent::SessionInvalid { reason } => self.string(reason),
            AgentEvent::SessionChanged { .. } => {}
            AgentEvent::Custom { payload, .. } => self.value(payload),
        }
    }

    /// Returns the error with the text that an agent or a user may have written masked.
    pub fn error(&self, mut error: Error) -> Error {
        match &mut error {
            Error::Config { problem, .. } | Error::Unavailable { problem, .. } => {
                self.string(problem);
            }
            Error::InvalidInput(text) => self.string(text),
            Error::Unsupported { what, .. } | Error::Timeout { what, .. } => self.string(what),
            Error::Panicked { message, .. } | Error::Agent { message, .. } => self.string(message),
            Error::UnknownBackend(_)
            | Error::Reference(_)
            | Error::SessionNotFound { .. }
            | Error::SessionBusy { .. }
            | Error::Cancelled => {}
        }
        error
    }
}

/// An approver that receives masked requests.
#[derive(Debug)]
pub(crate) struct MaskedApprover {
    pub(crate) masker: Masker,
    pub(crate) approver: Arc<dyn Approver>,
}

impl Approver for MaskedApprover {
    fn decide(&self, mut request: PermissionRequest) -> BoxFuture<'_, Option<String>> {
        self.masker.string(&mut request.tool);
        self.masker.value(&mut request.input);
        for option in &mut request.options {
            self.masker.string(&mut option.label);
        }
        self.approver.decide(request)
    }
}
