//! The configuration of a mock.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use windlass_core::{AgentEvent, AgentHandle, Error, ErrorCode, Result};

use super::expectation::{MockResponse, ToolCall};
use super::{ExpectationBuilder, MockAgent};

/// The `[agents.NAME]` table of a mock. Keys that all agents share are accepted and have no effect
/// here.
#[derive(Debug, Default, Deserialize)]
pub struct MockConfig {
    /// The expectations in order. Without any, the mock echoes.
    #[serde(default)]
    expectations: Vec<ExpectationConfig>,
    /// A script to play instead.
    script: Option<PathBuf>,
}

/// One `[[agents.NAME.expectations]]`: a prompt, and exactly one kind of response.
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
    /// Whether to emit the response without its terminal event, and then nothing more.
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
    /// Creates a handle to the agent that this configuration describes. A script is read
    /// immediately.
    pub fn into_handle(self) -> Result<AgentHandle> {
        match &self.script {
            None => Ok(AgentHandle::wrap(self.into_agent()?)),
            Some(_) if !self.expectations.is_empty() => Err(Error::config(
                "script",
                "expected either a script or expectations, not both",
            )),
            Some(path) => play_script(path),
        }
    }

    /// Creates the agent with these expectations.
    pub fn into_agent(self) -> Result<MockAgent> {
        let mut agent = MockAgent::new();
        for (number, expectation) in self.expectations.into_iter().enumerate() {
            let prompt = expectation.prompt.clone();
            let response = expectation
                .into_response()
                .map_err(|problem| Error::config(format!("expectations[{number}]"), problem))?;
            agent = ExpectationBuilder::new(agent, &prompt).respond(response);
        }
        Ok(agent)
    }
}

/// Creates an agent that plays the script in this file.
#[cfg(feature = "scripted")]
fn play_script(path: &Path) -> Result<AgentHandle> {
    let script = windlass_scripted::Script::read(path)
        .map_err(|error| Error::config("script", error.to_string()))?;
    Ok(AgentHandle::wrap(crate::ScriptedAgent::new(script)))
}

/// Returns an error, because scripts are not compiled in.
#[cfg(not(feature = "scripted"))]
fn play_script(path: &Path) -> Result<AgentHandle> {
    let problem = format!(
        "cannot play {}: enable the feature `scripted` of windlass-testkit",
        path.display()
    );
    Err(Error::config("script", problem))
}

impl ExpectationConfig {
    fn into_response(self) -> std::result::Result<MockResponse, &'static str> {
        let mut response = match (self.events, self.error, self.text) {
            (Some(events), None, None) if self.tools.is_empty() => MockResponse::events(events),
            (None, Some(error), None) if self.tools.is_empty() => {
                MockResponse::error(error.code, &error.message)
            }
            (None, None, Some(text)) => MockResponse::tools(self.tools, &text),
            (None, None, None) if self.hang && self.tools.is_empty() => {
                MockResponse::events(Vec::new())
            }
            _ => {
                return Err(
                    "expected exactly one of text (with or without tools), error, events, hang",
                );
            }
        };
        if self.hang {
            response.hangs = true;
            response.events.retain(|event| !event.is_terminal());
        }
        Ok(response)
    }
}
