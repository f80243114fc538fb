//! Scripts: predefined responses of a model.
//!
//! A script is independent of HTTP and of any agent's tools. The scripted model serves it to real agents; a
//! mock agent plays the same script itself and executes the intents in its workspace.

mod cursor;
mod fault;
mod intent;
mod matcher;
mod part;
mod read;

use serde::{Deserialize, Serialize};

pub use cursor::{ScriptCursor, UnusedTurn};
pub use fault::{ErrorStatus, Fault};
pub use intent::{Intent, IntentKind};
pub use matcher::{Matcher, RequestFeatures};
pub use part::ScriptPart;
pub use read::{SCRIPT_BYTES, ScriptError};

/// A list of turns, and common settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// A description of the script.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The directory that relative paths start from, for agents that require absolute paths and do not send
    /// their working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The turns.
    pub turns: Vec<ScriptTurn>,
}

/// One response of the model, and the requests it answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptTurn {
    /// The requests it answers; all by default.
    #[serde(default, skip_serializing_if = "Matcher::is_any")]
    pub when: Matcher,
    /// The parts of the response, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answer: Vec<ScriptPart>,
    /// A fault that replaces the response, or follows its parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// The number of requests it answers.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: u32,
    /// Whether it may answer more requests than that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub or_more: bool,
    /// The delay between two chunks of a streamed response, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// The reported token usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ScriptedUsage>,
}

impl ScriptTurn {
    /// Creates a turn with these parts that answers any request, once.
    pub fn new(answer: impl IntoIterator<Item = ScriptPart>) -> Self {
        Self {
            answer: answer.into_iter().collect(),
            times: 1,
            ..Self::default()
        }
    }

    /// Creates a turn that only injects a fault.
    pub fn failing(fault: Fault) -> Self {
        Self {
            fault: Some(fault),
            ..Self::new([])
        }
    }
}

/// The token usage that a scripted response reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedUsage {
    /// All input tokens, including cached ones.
    pub input: u64,
    /// All output tokens, including reasoning.
    pub output: u64,
    /// Input tokens read from the cache.
    pub cached: u64,
    /// Output tokens used for reasoning.
    pub reasoning: u64,
}

impl Default for ScriptedUsage {
    /// Small numbers that are equal in every response, so that two recordings of one script are equal.
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

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde requires this signature"
)]
fn is_once(times: &u32) -> bool {
    *times == 1
}
