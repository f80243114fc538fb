//! The progress of a script: which turns are used, and which one is next.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{RequestFeatures, Script, ScriptTurn};

/// A script and its progress.
///
/// A request is answered by **the first turn, in the script's order, that is not exhausted and matches**. So a
/// script without matchers is played from top to bottom, and one with matchers is a table of rules.
#[derive(Debug, Clone)]
pub struct ScriptCursor {
    script: Arc<Script>,
    /// How often each turn has answered.
    answered: Vec<u32>,
}

/// A turn that was not used, or not often enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnusedTurn {
    /// Its position in the script, counted from 1.
    pub turn: usize,
    /// How often it was used.
    pub answered: u32,
    /// How often it should have been used.
    pub times: u32,
}

impl std::fmt::Display for UnusedTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            turn,
            answered,
            times,
        } = self;
        write!(f, "turn {turn} was used {answered} of {times} times")
    }
}

impl ScriptCursor {
    /// Creates a cursor at the start of the script.
    pub fn new(script: impl Into<Arc<Script>>) -> Self {
        let script = script.into();
        Self {
            answered: vec![0; script.turns.len()],
            script,
        }
    }

    /// Returns the script.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// Returns the index, counted from 0, of the turn for this request. The error explains why each remaining
    /// turn does not match.
    pub fn find(&self, features: &RequestFeatures) -> Result<usize, String> {
        let mut mismatches = Vec::new();
        let turns = self.script.turns.iter().zip(&self.answered).enumerate();
        for (index, (turn, answered)) in turns {
            if *answered >= turn.times && !turn.or_more {
                continue;
            }
            match turn.when.mismatch(features) {
                None => return Ok(index),
                Some(why) => mismatches.push(format!("turn {}: {why}", index + 1)),
            }
        }
        if mismatches.is_empty() {
            return Err("every turn of the script has been used".to_owned());
        }
        Err(mismatches.join("; "))
    }

    /// Returns the turn at this index.
    pub fn turn(&self, index: usize) -> Option<&ScriptTurn> {
        self.script.turns.get(index)
    }

    /// Records that the turn at this index has answered.
    pub fn mark_used(&mut self, index: usize) {
        if let Some(answered) = self.answered.get_mut(index) {
            *answered = answered.saturating_add(1);
        }
    }

    /// Returns the turns that were not used, or not often enough.
    pub fn unused(&self) -> Vec<UnusedTurn> {
        let turns = self.script.turns.iter().zip(&self.answered).enumerate();
        turns
            .filter(|(_, (turn, answered))| **answered < turn.times)
            .map(|(index, (turn, answered))| UnusedTurn {
                turn: index + 1,
                answered: *answered,
                times: turn.times,
            })
            .collect()
    }
}
