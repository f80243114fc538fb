//! An agent with predefined responses.

mod config;
mod expectation;
mod probe;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use windlass_core::{
    AgentBackend, AgentHandle, BackendEvent, Capabilities, Error, ErrorCode, EventStream, Prompt,
    Result, SessionId, SessionOptions, ready_events, registry,
};

pub use config::MockConfig;
use expectation::{Expectation, MockResponse};
pub use expectation::{ExpectationBuilder, ToolCall};
pub use probe::{MockProbe, UnmetExpectations};

/// The name of the backend.
const NAME: &str = "mock";

/// An agent with predefined responses.
///
/// Without expectations it echoes every prompt. With expectations, prompts must come in their
/// order, each containing the pattern of its expectation; any other prompt ends in an error that
/// shows the expected and the actual prompt.
#[derive(Debug)]
pub struct MockAgent {
    state: Arc<Mutex<MockState>>,
    capabilities: Capabilities,
}

#[derive(Debug, Default)]
struct MockState {
    expectations: VecDeque<Expectation>,
    /// Whether there ever were expectations: an agent that has used all of them does not start to
    /// echo.
    scripted: bool,
    prompts: Vec<String>,
    sessions: HashMap<SessionId, CancellationToken>,
}

impl Default for MockAgent {
    /// Creates an agent that streams text, uses tools and can resume sessions.
    fn default() -> Self {
        Self {
            state: Arc::default(),
            capabilities: Capabilities {
                streaming: true,
                load_session: true,
                tools: true,
                ..Capabilities::default()
            },
        }
    }
}

impl MockAgent {
    /// Creates an agent without expectations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the declared capabilities; the agent rejects what they exclude.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Starts an expectation: the next prompt contains this text.
    pub fn on_prompt(self, pattern: &str) -> ExpectationBuilder {
        ExpectationBuilder::new(self, pattern)
    }

    /// Returns a probe of the received prompts, which stays valid when the agent moves into a
    /// handle.
    pub fn probe(&self) -> MockProbe {
        MockProbe::new(Arc::clone(&self.state))
    }

    /// Returns a factory of mocks from configuration, for a registry.
    pub fn factory() -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
        |config| registry::parse_config::<MockConfig>(config)?.into_handle()
    }

    fn expect(self, expectation: Expectation) -> Self {
        let mut state = self.state.lock();
        state.scripted = true;
        state.expectations.push_back(expectation);
        drop(state);
        self
    }

    fn check(&self, options: &SessionOptions) -> Result<()> {
        if options.output_schema.is_some() && !self.capabilities.native_schema {
            return Err(Self::unsupported("enforce a schema"));
        }
        Ok(())
    }

    fn unsupported(what: &str) -> Error {
        Error::unsupported(NAME, what)
    }

    fn unknown(session: &SessionId) -> Error {
        Error::SessionNotFound {
            backend: NAME.to_owned(),
            session: session.clone(),
        }
    }
}

impl MockState {
    /// Returns the response to a prompt, and removes the matching expectation.
    fn respond(&mut self, prompt: &str) -> MockResponse {
        self.prompts.push(prompt.to_owned());
        if !self.scripted {
            return MockResponse::text(prompt);
        }
        let expected = match self.expectations.front() {
            Some(next) if next.matches(prompt) => {
                return self
                    .expectations
                    .pop_front()
                    .map_or_else(|| MockResponse::text(prompt), |met| met.response);
            }
            Some(next) => format!("a prompt that contains {:?}", next.pattern()),
            None => "no further prompt".to_owned(),
        };
        let message = format!("unexpected prompt: expected {expected}, got {prompt:?}");
        MockResponse::error(ErrorCode::BackendError, &message)
    }
}

impl AgentBackend for MockAgent {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(async move {
            self.check(&options)?;
            let mut state = self.state.lock();
            let id = SessionId::from(format!("mock-{}", state.sessions.len() + 1));
            state.sessions.insert(id.clone(), CancellationToken::new());
            Ok(id)
        })
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            if !self.capabilities.load_session {
                return Err(Self::unsupported("resume a session"));
            }
            self.check(&options)?;
            let known = self.state.lock().sessions.contains_key(id);
            if known {
                Ok(())
            } else {
                Err(Self::unknown(id))
            }
        })
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async move {
            let mut state = self.state.lock();
            let cancelled = CancellationToken::new();
            match state.sessions.get_mut(id) {
                Some(slot) => *slot = cancelled.clone(),
                None => return Err(Self::unknown(id)),
            }
            let MockResponse { events, hangs } = state.respond(&prompt.text);
            let events = ready_events(events);
            if !hangs {
                return Ok(events);
            }
            let silence = futures::stream::pending::<BackendEvent>();
            let stream = events.chain(silence.take_until(cancelled.cancelled_owned()));
            Ok(Box::pin(stream) as EventStream)
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async {
            match self.state.lock().sessions.get(id) {
                Some(turn) => {
                    turn.cancel();
                    Ok(())
                }
                None => Err(Self::unknown(id)),
            }
        })
    }
}
