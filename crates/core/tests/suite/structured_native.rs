//! An agent with the native schema capability that gives the same answer every time.

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use windlass_core::{
    AgentBackend, AgentEvent, Capabilities, EventStream, Prompt, Result, SessionId, SessionOptions,
    ready_events,
};

#[derive(Debug)]
pub(crate) struct Native {
    answer: AgentEvent,
    pub(crate) seen: Arc<Mutex<Seen>>,
}

/// The inputs that the agent received.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) schema: Option<Value>,
    pub(crate) prompts: Vec<String>,
}

impl Native {
    pub(crate) fn answering(text: &str, metadata: Value) -> Self {
        Self {
            answer: AgentEvent::Result {
                text: text.to_owned(),
                usage: None,
                metadata,
            },
            seen: Arc::default(),
        }
    }
}

impl AgentBackend for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            native_schema: true,
            ..Capabilities::default()
        }
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        self.seen.lock().unwrap().schema = options.output_schema;
        async { Ok("one".into()) }.boxed()
    }

    fn load_session<'a>(
        &'a self,
        _: &'a SessionId,
        _: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        async { Ok(()) }.boxed()
    }

    fn prompt<'a>(
        &'a self,
        _: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        self.seen.lock().unwrap().prompts.push(prompt.text);
        let answer = self.answer.clone();
        async { Ok(ready_events([answer])) }.boxed()
    }

    fn cancel<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        async { Ok(()) }.boxed()
    }
}
