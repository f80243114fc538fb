//! A handle used as a backend.

use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use windlass_core::{
    AgentBackend, AgentHandle, BackendEvent, Capabilities, EditMode, EventStream, Prompt, Result,
    SessionId, SessionOptions,
};

/// An agent behind a handle, as a backend that can be wrapped. The limits of the handle still
/// apply.
#[derive(Debug, Clone)]
pub struct HandleBackend {
    handle: AgentHandle,
}

impl HandleBackend {
    /// Uses the agent behind this handle.
    pub fn new(handle: AgentHandle) -> Self {
        Self { handle }
    }
}

impl AgentBackend for HandleBackend {
    fn name(&self) -> &'static str {
        self.handle.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.handle.capabilities()
    }

    fn edit_mode(&self, model: Option<&str>) -> EditMode {
        self.handle.edit_mode(model)
    }

    fn has_alternative(&self) -> bool {
        self.handle.has_alternative()
    }

    fn context_window<'a>(&'a self, model: Option<&'a str>) -> BoxFuture<'a, Option<u64>> {
        Box::pin(self.handle.context_window(model))
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
            Ok(Box::pin(events.map(|envelope| BackendEvent {
                event: envelope.event,
                raw: envelope.raw,
            })) as EventStream)
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.handle.cancel(id))
    }

    fn scoped(&self) -> Option<Arc<dyn AgentBackend>> {
        Some(Arc::new(Self::new(self.handle.scoped())))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.handle.close())
    }
}
