//! A script while it is played: which turns are used up, and which one is next.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{RequestFeatures, Script, ScriptTurn};

/// A script and how far it has been played.
///
/// A request is answered by **the first turn, in the script's order, that is not used up and fits**. So a script without
/// matchers is played from top to bottom, and one with matchers is a table of rules.
#[derive(Debug, Clone)]
pub struct ScriptCursor {
    script: Arc<Script>,
    /// How often each turn has answered.
    answered: Vec<u32>,
}

/// A turn that nothing asked for, or not often enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedTurn {
    /// Its place in the script, counted from 1.
    pub turn: usize,
    /// How often it was asked for.
    pub answered: u32,
    /// How often it should have been.
    pub times: u32,
}

impl std::fmt::Display for UnusedTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            turn,
            answered,
            times,
        } = self;
        write!(f, "turn {turn} was asked for {answered} of {times} times")
    }
}

impl ScriptCursor {
    /// The script from its beginning.
    pub fn new(script: impl Into<Arc<Script>>) -> Self {
        let script = script.into();
        Self {
            answered: vec![0; script.turns.len()],
            script,
        }
    }

    /// The script.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// The place, counted from 0, of the turn that answers this request; the error says why each turn that is left does not fit.
    pub fn find(&self, asked: &RequestFeatures) -> Result<usize, String> {
        let mut misfits = Vec::new();
        let turns = self.script.turns.iter().zip(&self.answered).enumerate();
        for (place, (turn, answered)) in turns {
            if *answered >= turn.times && !turn.or_more {
                continue;
            }
            match turn.when.mismatch(asked) {
                None => return Ok(place),
                Some(why) => misfits.push(format!("turn {}: {why}", place + 1)),
            }
        }
        if misfits.is_empty() {
            return Err("every turn of the script is used up".to_owned());
        }
        Err(misfits.join("; "))
    }

    /// The turn at this place.
    pub fn turn(&self, place: usize) -> Option<&ScriptTurn> {
        self.script.turns.get(place)
    }

    /// Notes that the turn at this place has answered.
    pub fn mark_used(&mut self, place: usize) {
        if let Some(answered) = self.answered.get_mut(place) {
            *answered = answered.saturating_add(1);
        }
    }

    /// The turns that nothing asked for, or not often enough.
    pub fn unused(&self) -> Vec<UnusedTurn> {
        let turns = self.script.turns.iter().zip(&self.answered).enumerate();
        turns
            .filter(|(_, (turn, answered))| **answered < turn.times)
            .map(|(place, (turn, answered))| UnusedTurn {
                turn: place + 1,
                answered: *answered,
                times: turn.times,
            })
            .collect()
    }
}
