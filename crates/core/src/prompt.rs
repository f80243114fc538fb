//! The input of a turn.

use std::time::Duration;

/// The input of a turn, with an optional time limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// The time limit from prompt to terminal event. `None` selects the handle's limit.
    pub timeout: Option<Duration>,
    /// Whether a model must call a tool that is not read-only before it answers. An agent with its own tools ignores
    /// it.
    pub requires_call: bool,
}

impl Prompt {
    /// Sets the time limit of the turn.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl<T: Into<String>> From<T> for Prompt {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}
