//! Access to the prompts that a mock has received.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use super::MockState;

/// A view of a mock that stays valid when the mock moves into a handle.
#[derive(Debug, Clone)]
pub struct MockProbe {
    state: Arc<Mutex<MockState>>,
}

impl MockProbe {
    pub(super) fn new(state: Arc<Mutex<MockState>>) -> Self {
        Self { state }
    }

    /// Returns every prompt so far, expected or not.
    pub fn prompts(&self) -> Vec<String> {
        self.state.lock().prompts.clone()
    }

    /// Checks that every expectation was met. The error lists the unmet ones and the received
    /// prompts.
    pub fn verify(&self) -> Result<(), UnmetExpectations> {
        let state = self.state.lock();
        if state.expectations.is_empty() {
            return Ok(());
        }
        let patterns = state.expectations.iter().map(|e| e.pattern().to_owned());
        Err(UnmetExpectations {
            expected: patterns.collect(),
            prompts: state.prompts.clone(),
        })
    }
}

/// Expectations that were not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmetExpectations {
    expected: Vec<String>,
    prompts: Vec<String>,
}

impl fmt::Display for UnmetExpectations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unmet expectations: prompts that contain {:?}, ",
            self.expected
        )?;
        match self.prompts.as_slice() {
            [] => write!(f, "no prompts received"),
            prompts => write!(f, "received prompts: {prompts:?}"),
        }
    }
}

impl std::error::Error for UnmetExpectations {}
