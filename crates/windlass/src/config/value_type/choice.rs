//! Values that are one of several words.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_agents::composite::{CompositeKind, FallbackCause};

use super::{TextList, ValueKind, ValueType};

/// What an agent may do, as its backend interprets it.
pub(in crate::config) struct Policy;

/// The hosts that an agent may reach, as its backend interprets them.
pub(in crate::config) struct Hosts;

/// The mechanism that isolates agents, tools and tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMechanism {
    /// The strongest that this machine has.
    Auto,
    /// Bubblewrap.
    Bubblewrap,
    /// Landlock.
    Landlock,
    /// No isolation.
    None,
}

/// Which changes land without being asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AutoLand {
    /// None.
    Off,
    /// Every change that was proved and needs no review.
    Proved,
}

/// How a change is brought onto its branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandStrategy {
    /// With a merge commit, unless the branch can be fast-forwarded.
    Merge,
    /// As one commit on top of the branch.
    Rebase,
}

/// What an agent that is served as a model may do in its working directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FolderAccess {
    /// It may change files.
    Allow,
    /// It may only read.
    Deny,
}

/// What a request with tools gets from an agent that accepts only text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCalls {
    /// An error.
    Refuse,
    /// The tools in its prompt; its answer becomes a call.
    Transcript,
}

/// Implements [`ValueType`] for one of several words. A type after `as` is an enum that serde reads and writes; a
/// type after `struct` is a new one; the backend interprets its word.
macro_rules! choices {
    ($(#[doc = $doc:literal] struct $type:ident: $($choice:literal),+;)+) => {$(
        #[doc = $doc]
        pub(in crate::config) struct $type;
        impl ValueType for $type {
            type Value = &'static str;
            const KIND: ValueKind = ValueKind::Choice(&[$($choice),+]);
            fn read(value: &Value) -> Option<&'static str> {
                [$($choice),+].into_iter().find(|choice| value == choice)
            }
            fn write(value: &&'static str) -> Value {
                (*value).into()
            }
        }
    )+};
    ($(as $type:ident: $($choice:literal),+;)+) => {$(
        impl ValueType for $type {
            type Value = Self;
            const KIND: ValueKind = ValueKind::Choice(&[$($choice),+]);
            fn read(value: &Value) -> Option<Self> {
                one_of(value, &[$($choice),+])
            }
            fn write(value: &Self) -> Value {
                serde_json::to_value(value).unwrap_or_default()
            }
        }
    )+};
}

choices! {
    /// The API of an `openai` model.
    struct ApiSpecWord: "chat_completions", "responses";
    /// How a model calls tools.
    struct ToolModeWord: "auto", "native", "schema", "text";
    /// How a model changes files.
    struct EditModeWord: "auto", "tools", "whole_files";
    /// How a schema for structured answers is enforced.
    struct SchemaModeWord: "auto", "native", "prompt", "none";
    /// What happens when changes conflict.
    struct ConflictsWord: "agent", "ask";
    /// Whether an agent calls its model through the bridge.
    struct BridgeWord: "on", "off", "pass_through";
    /// The timing of replayed events.
    struct TimingWord: "instant", "recorded";
}

choices! {
    as CompositeKind: "single", "fallback", "plan_execute";
    as SandboxMechanism: "auto", "bubblewrap", "landlock", "none";
    as FolderAccess: "allow", "deny";
    as ToolCalls: "refuse", "transcript";
    as AutoLand: "off", "proved";
    as LandStrategy: "merge", "rebase";
}

/// The error causes after which a fallback can use the next node.
const CAUSES: &[&str] = &[
    "rate_limited",
    "unavailable",
    "timeout",
    "auth_failed",
    "session_orphaned",
    "backend_error",
    "tool_failed",
    "permission_denied",
    "output_limit",
    "budget_exceeded",
];

impl ValueType for FallbackCause {
    type Value = Vec<Self>;
    const KIND: ValueKind = ValueKind::Choices(CAUSES);

    fn read(value: &Value) -> Option<Vec<Self>> {
        let items = value.as_array()?.iter();
        items.map(|item| one_of(item, CAUSES)).collect()
    }

    fn write(value: &Vec<Self>) -> Value {
        serde_json::to_value(value).unwrap_or_default()
    }
}

impl ValueType for Policy {
    type Value = Value;
    const KIND: ValueKind = ValueKind::Policy(&["allow", "deny", "ask"]);

    fn read(value: &Value) -> Option<Value> {
        let is_word = ["allow", "deny", "ask"].iter().any(|word| value == word);
        (is_word || value.is_object()).then(|| value.clone())
    }

    fn write(value: &Value) -> Value {
        value.clone()
    }
}

impl ValueType for Hosts {
    type Value = Value;
    const KIND: ValueKind = ValueKind::ListOr(&["open", "none"]);

    fn read(value: &Value) -> Option<Value> {
        let is_word = ["open", "none"].iter().any(|word| value == word);
        (is_word || TextList::read(value).is_some()).then(|| value.clone())
    }

    fn write(value: &Value) -> Value {
        value.clone()
    }
}

/// Reads a value that must be one of these words.
fn one_of<T: DeserializeOwned>(value: &Value, choices: &[&str]) -> Option<T> {
    let choice = choices.iter().find(|choice| value == *choice)?;
    serde_json::from_value((*choice).into()).ok()
}
