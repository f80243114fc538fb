//! What a mock was asked, seen from outside.

use std::fmt;
use std::sync::{Arc, Mutex};

use super::{State, lock};

/// A view of a mock that stays when the mock moves into a handle.
#[derive(Debug, Clone)]
pub struct Probe {
    state: Arc<Mutex<State>>,
}

impl Probe {
    pub(super) fn new(state: Arc<Mutex<State>>) -> Self {
        Self { state }
    }

    /// Every prompt so far, expected or not.
    pub fn prompts(&self) -> Vec<String> {
        lock(&self.state).prompts.clone()
    }

    /// Whether every expectation was met; the error shows those that were not, and what came.
    pub fn verify(&self) -> Result<(), Unmet> {
        let state = lock(&self.state);
        if state.expectations.is_empty() {
            return Ok(());
        }
        let patterns = state.expectations.iter().map(|e| e.pattern().to_owned());
        Err(Unmet {
            expected: patterns.collect(),
            prompts: state.prompts.clone(),
        })
    }
}

/// Expectations that nobody met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    expected: Vec<String>,
    prompts: Vec<String>,
}

impl fmt::Display for Unmet {
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

impl std::error::Error for Unmet {}
