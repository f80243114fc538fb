//! An agent that answers with the result of a function.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use windlass_core::{
    AgentBackend, AgentEvent, Capabilities, EventStream, Prompt, Result, SessionId, SessionOptions,
    ready_events,
};

/// An agent that answers each prompt with the events that a closure returns.
///
/// It fits where the answer depends on the prompt. [`MockAgent`](crate::MockAgent) has predefined answers instead,
/// and verifies the prompts. Every session can be resumed, and a turn cannot be cancelled.
///
/// ```
/// use windlass_core::{AgentEvent, AgentHandle, SessionOptions};
/// use windlass_testkit::FnAgent;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> windlass_core::Result<()> {
/// let agent = FnAgent::new(|prompt| [AgentEvent::result(prompt.text.to_uppercase())]);
/// let agent = AgentHandle::wrap(agent);
/// let session = agent.new_session(SessionOptions::default()).await?;
/// let events = agent.prompt(&session, "hello").await?.collect().await;
/// assert_eq!(events, [AgentEvent::result("HELLO")]);
/// # Ok(())
/// # }
/// ```
pub struct FnAgent {
    answer: Box<dyn Fn(Prompt) -> Vec<AgentEvent> + Send + Sync>,
    on_session: Box<dyn Fn(&SessionOptions) + Send + Sync>,
    capabilities: Capabilities,
    sessions: AtomicU64,
}

impl FnAgent {
    /// Creates an agent that answers with these events. The last one must be terminal.
    pub fn new<E>(answer: impl Fn(Prompt) -> E + Send + Sync + 'static) -> Self
    where
        E: IntoIterator<Item = AgentEvent>,
    {
        Self {
            answer: Box::new(move |prompt| answer(prompt).into_iter().collect()),
            on_session: Box::new(|_| {}),
            capabilities: Capabilities::default(),
            sessions: AtomicU64::new(0),
        }
    }

    /// Sets the declared capabilities.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Calls a closure with the options of each new session, to check them.
    #[must_use]
    pub fn on_session(mut self, check: impl Fn(&SessionOptions) + Send + Sync + 'static) -> Self {
        self.on_session = Box::new(check);
        self
    }
}

impl fmt::Debug for FnAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnAgent")
            .field("capabilities", &self.capabilities)
            .finish_non_exhaustive()
    }
}

impl AgentBackend for FnAgent {
    fn name(&self) -> &'static str {
        "fn"
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(async move {
            (self.on_session)(&options);
            let number = self.sessions.fetch_add(1, Ordering::Relaxed) + 1;
            Ok(SessionId::from(format!("fn-{number}")))
        })
    }

    fn load_session<'a>(
        &'a self,
        _: &'a SessionId,
        _: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn prompt<'a>(
        &'a self,
        _: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async move { Ok(ready_events((self.answer)(prompt))) })
    }

    fn cancel<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }
}
