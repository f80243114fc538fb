//! A mock as configuration.

use serde::Deserialize;
use windlass_core::{AgentEvent, Error, ErrorCode, Result};

use super::expectation::{Answer, ToolCall};
use super::{ExpectationBuilder, MockAgent};

/// What `[agents.NAME]` may say about a mock. Keys that all agents share are accepted and mean nothing here.
#[derive(Debug, Default, Deserialize)]
pub struct MockConfig {
    /// The expectations in order. Without any, the mock echoes.
    #[serde(default)]
    expectations: Vec<ExpectationConfig>,
}

/// One `[[agents.NAME.expectations]]`: a prompt, and exactly one of the answers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectationConfig {
    /// Text that the prompt contains.
    #[serde(default)]
    prompt: String,
    text: Option<String>,
    #[serde(default)]
    tools: Vec<ToolCall>,
    error: Option<ErrorConfig>,
    events: Option<Vec<AgentEvent>>,
    /// Says what is above, without its end, and then falls silent.
    #[serde(default)]
    hang: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorConfig {
    code: ErrorCode,
    message: String,
}

impl MockConfig {
    /// The agent that this configuration describes.
    pub fn into_agent(self) -> Result<MockAgent> {
        let mut agent = MockAgent::new();
        for (number, expectation) in self.expectations.into_iter().enumerate() {
            let prompt = expectation.prompt.clone();
            let answer = expectation
                .into_answer()
                .map_err(|problem| Error::config(format!("expectations[{number}]"), problem))?;
            agent = ExpectationBuilder::new(agent, &prompt).respond(answer);
        }
        Ok(agent)
    }
}

impl ExpectationConfig {
    fn into_answer(self) -> std::result::Result<Answer, &'static str> {
        let mut answer = match (self.events, self.error, self.text) {
            (Some(events), None, None) if self.tools.is_empty() => Answer::events(events),
            (None, Some(error), None) if self.tools.is_empty() => {
                Answer::error(error.code, &error.message)
            }
            (None, None, Some(text)) => Answer::tools(self.tools, &text),
            (None, None, None) if self.hang && self.tools.is_empty() => Answer::events(Vec::new()),
            _ => {
                return Err(
                    "expected exactly one of text (with or without tools), error, events, hang",
                );
            }
        };
        if self.hang {
            answer.hangs = true;
            answer.events.retain(|event| !event.is_terminal());
        }
        Ok(answer)
    }
}
