//! A handle in the place of a backend.

use futures::StreamExt;
use futures::future::BoxFuture;
use windlass_core::{
    AgentBackend, AgentHandle, Capabilities, Emitted, EventStream, Prompt, Result, SessionId,
    SessionOptions,
};

/// An agent behind a handle, as a backend that others can wrap. The limits of the handle stay in force.
#[derive(Debug, Clone)]
pub struct Handled {
    handle: AgentHandle,
}

impl Handled {
    /// The agent behind this handle.
    pub fn new(handle: AgentHandle) -> Self {
        Self { handle }
    }
}

impl AgentBackend for Handled {
    fn name(&self) -> &'static str {
        self.handle.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.handle.capabilities()
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(self.handle.new_session(options))
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.handle.load_session(id, options))
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async move {
            let events = self.handle.prompt(id, prompt).await?;
            Ok(Box::pin(events.map(|envelope| Emitted {
                event: envelope.event,
                raw: envelope.raw,
            })) as EventStream)
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.handle.cancel(id))
    }
}
