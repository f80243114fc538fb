//! What a mock was asked, seen from outside.

use std::fmt;
use std::sync::{Arc, Mutex};

use super::{MockState, lock};

/// A view of a mock that stays when the mock moves into a handle.
#[derive(Debug, Clone)]
pub struct MockProbe {
    state: Arc<Mutex<MockState>>,
}

impl MockProbe {
    pub(super) fn new(state: Arc<Mutex<MockState>>) -> Self {
        Self { state }
    }

    /// Every prompt so far, expected or not.
    pub fn prompts(&self) -> Vec<String> {
        lock(&self.state).prompts.clone()
    }

    /// Whether every expectation was met; the error shows those that were not, and what came.
    pub fn verify(&self) -> Result<(), UnmetExpectations> {
        let state = lock(&self.state);
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

/// Expectations that nobody met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmetExpectations {
    expected: Vec<String>,
    prompts: Vec<String>,
}

impl fmt::Display for UnmetExpectations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "still expected: prompts that contain {:?}, ",
            self.expected
        )?;
        match self.prompts.as_slice() {
            [] => write!(f, "no prompt came"),
            prompts => write!(f, "these prompts came: {prompts:?}"),
        }
    }
}

impl std::error::Error for UnmetExpectations {}
