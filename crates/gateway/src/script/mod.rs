//! What a model will say, written down beforehand.
//!
//! A script knows nothing of HTTP or of any agent's tools. The scripted model serves it to real agents; a mock agent plays the
//! same script by itself, doing in its workspace what the intents say.

mod cursor;
mod fault;
mod intent;
mod matcher;
mod part;
mod part_format;
mod read;

use serde::{Deserialize, Serialize};

pub use cursor::{ScriptCursor, UnusedTurn};
pub use fault::{ErrorStatus, Fault};
pub use intent::{Intent, IntentKind};
pub use matcher::{Matcher, RequestFeatures};
pub use part::ScriptPart;
pub use read::{SCRIPT_BYTES, ScriptError};

/// A list of turns, and what they have in common.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// What the script is about, for whoever reads it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The folder that relative paths start from, for agents that want whole paths and do not say where they work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The answers.
    pub turns: Vec<ScriptTurn>,
}

/// One answer of the model, and the requests that it is for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptTurn {
    /// Which requests it answers; everything by default.
    #[serde(default, skip_serializing_if = "Matcher::is_any")]
    pub when: Matcher,
    /// What the model says and does, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answer: Vec<ScriptPart>,
    /// What goes wrong instead, or after these parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// How many requests it answers.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: u32,
    /// Whether it goes on answering after that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub or_more: bool,
    /// How long a streamed answer rests between two pieces, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// The tokens it claims to have used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ScriptedUsage>,
}

impl ScriptTurn {
    /// A turn of these parts, for any request, once.
    pub fn new(answer: impl IntoIterator<Item = ScriptPart>) -> Self {
        Self {
            answer: answer.into_iter().collect(),
            times: 1,
            ..Self::default()
        }
    }

    /// A turn that only fails.
    pub fn failing(fault: Fault) -> Self {
        Self {
            fault: Some(fault),
            ..Self::new([])
        }
    }
}

/// The tokens that a scripted answer claims to have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedUsage {
    /// All tokens read, those from the cache included.
    pub input: u64,
    /// All tokens written, thoughts included.
    pub output: u64,
    /// Of those read, how many came from the cache.
    pub cached: u64,
    /// Of those written, how many were thought.
    pub reasoning: u64,
}

impl Default for ScriptedUsage {
    /// The same small numbers for every answer, so that two recordings of one script are equal.
    fn default() -> Self {
        Self {
            input: 100,
            output: 10,
            cached: 0,
            reasoning: 0,
        }
    }
}

fn once() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_once(times: &u32) -> bool {
    *times == 1
}
