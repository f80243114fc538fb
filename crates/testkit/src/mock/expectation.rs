//! An expected prompt and its response.

use serde::Deserialize;
use serde_json::Value;
use windlass_core::{AgentEvent, Error, ErrorCode};

use super::MockAgent;

/// A prompt that is expected, and the response to it.
#[derive(Debug)]
pub(super) struct Expectation {
    pattern: String,
    pub(super) response: MockResponse,
}

impl Expectation {
    pub(super) fn new(pattern: &str, response: MockResponse) -> Self {
        Self {
            pattern: pattern.to_owned(),
            response,
        }
    }

    pub(super) fn pattern(&self) -> &str {
        &self.pattern
    }

    pub(super) fn matches(&self, prompt: &str) -> bool {
        prompt.contains(&self.pattern)
    }
}

/// The events of a response, and whether the turn hangs afterwards instead of ending.
#[derive(Debug)]
pub(super) struct MockResponse {
    pub(super) events: Vec<AgentEvent>,
    pub(super) hangs: bool,
}

impl MockResponse {
    pub(super) fn events(events: Vec<AgentEvent>) -> Self {
        Self {
            events,
            hangs: false,
        }
    }

    pub(super) fn text(text: &str) -> Self {
        Self::tools(Vec::new(), text)
    }

    pub(super) fn error(code: ErrorCode, message: &str) -> Self {
        Self::events(vec![Error::agent(code, message).into()])
    }

    pub(super) fn tools(tools: Vec<ToolCall>, result: &str) -> Self {
        let mut events = Vec::new();
        for (number, tool) in tools.into_iter().enumerate() {
            let id = format!("tool-{}", number + 1);
            events.push(AgentEvent::ToolStart {
                id: id.clone(),
                name: tool.name.clone(),
                input: tool.input,
            });
            events.push(AgentEvent::ToolEnd {
                id,
                name: tool.name,
                output: tool.output,
                success: tool.success,
                duration_ms: 0,
            });
        }
        events.push(AgentEvent::Text(result.to_owned()));
        events.push(AgentEvent::result(result));
        Self::events(events)
    }
}

/// A tool call that a mock reports.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// Its input.
    #[serde(default)]
    pub input: Value,
    /// Its output.
    #[serde(default)]
    pub output: Value,
    /// Whether it succeeded.
    #[serde(default = "default_true")]
    pub success: bool,
}

fn default_true() -> bool {
    true
}

impl ToolCall {
    /// Creates a tool call that succeeds.
    pub fn new(name: &str, input: Value, output: Value) -> Self {
        Self {
            name: name.to_owned(),
            input,
            output,
            success: true,
        }
    }

    /// Makes the tool call fail.
    #[must_use]
    pub fn failing(mut self) -> Self {
        self.success = false;
        self
    }
}

/// An expectation without a response yet.
#[derive(Debug)]
#[must_use = "an expectation counts once it has a response"]
pub struct ExpectationBuilder {
    agent: MockAgent,
    pattern: String,
}

impl ExpectationBuilder {
    pub(super) fn new(agent: MockAgent, pattern: &str) -> Self {
        Self {
            agent,
            pattern: pattern.to_owned(),
        }
    }

    /// Responds with exactly these events.
    pub fn respond_with(self, events: Vec<AgentEvent>) -> MockAgent {
        self.respond(MockResponse::events(events))
    }

    /// Responds with a text, as text events and as the result.
    pub fn respond_text(self, text: &str) -> MockAgent {
        self.respond(MockResponse::text(text))
    }

    /// Fails with this error.
    pub fn respond_error(self, code: ErrorCode, msg: &str) -> MockAgent {
        self.respond(MockResponse::error(code, msg))
    }

    /// Reports tool calls, then responds with a text.
    pub fn respond_with_tools(self, tools: Vec<ToolCall>, result: &str) -> MockAgent {
        self.respond(MockResponse::tools(tools, result))
    }

    /// Emits these events and then hangs until it is cancelled.
    pub fn hang_after(self, events: Vec<AgentEvent>) -> MockAgent {
        self.respond(MockResponse {
            events,
            hangs: true,
        })
    }

    pub(super) fn respond(self, response: MockResponse) -> MockAgent {
        self.agent.expect(Expectation::new(&self.pattern, response))
    }
}
