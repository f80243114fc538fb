//! An agent that edits files in its clone as a function says.

use std::path::Path;

use futures::future::BoxFuture;
use windlass_core::{
    AgentBackend, AgentEvent, Capabilities, EventStream, Prompt, Result, SessionId, SessionOptions,
    ready_events,
};

/// An agent whose every turn calls a function with the root of its clone. The function returns the answer.
pub(crate) struct EditingAgent<F>(pub(crate) F);

impl<F: Fn(&Path) -> String + Send + Sync + 'static> AgentBackend for EditingAgent<F> {
    fn name(&self) -> &'static str {
        "editor"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            tools: true,
            ..Capabilities::default()
        }
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        let root = options.cwd.unwrap().to_str().unwrap().to_owned();
        Box::pin(async move { Ok(root.into()) })
    }

    fn prompt<'a>(&'a self, id: &'a SessionId, _: Prompt) -> BoxFuture<'a, Result<EventStream>> {
        let answer = (self.0)(Path::new(id.as_str()));
        let events = ready_events([AgentEvent::result(answer)]);
        Box::pin(async { Ok(events) })
    }
}
