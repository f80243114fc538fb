//! Scenarios: the prompts for an agent, the expected events, and the expected files afterwards.
//!
//! A scenario is a JSON file and contains the script of its model, so that one file runs against
//! three subjects: an agent that plays the script itself, a recording, and a real agent with a
//! scripted model. `docs/scenarios.md` describes how expected events are matched.

mod assertions;
mod cassettes;
mod junit;
mod load;
mod matching;
mod report;
mod repository;
mod run;
mod subject;
mod tools;
mod workspace;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::ErrorCode;
use windlass_scripted::Script;

pub use cassettes::{CassetteDir, RecordingSubject};
pub use load::{LoadError, load_scenarios};
pub use report::{ScenarioOutcome, ScenarioReport, ScenarioResult};
pub use run::{run_scenarios, run_scenarios_on};
pub use subject::{
    Cleanup, PreparedAgent, ScenarioContext, ScenarioSubject, ScriptedSubject, WithScript,
};

/// One thing that an agent should be able to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The name of the scenario.
    pub name: String,
    /// A description, as one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What must exist before the scenario starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<ScenarioSetup>,
    /// The prompt.
    pub prompt: String,
    /// The expected events, in order.
    pub expected_events: Vec<EventMatcher>,
    /// Further prompts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<FollowUp>,
    /// Cancels the turn when an event matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_on: Option<EventMatcher>,
    /// What must be true afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assertions: Option<ScenarioAssertions>,
    /// Agents that the scenario is not for, with the reason: they cannot do it, or do not report
    /// it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_for: BTreeMap<String, String>,
    /// Time limit of one turn; one minute by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The script of the agent's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
}

/// What must exist before a scenario starts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioSetup {
    /// Files by path. An absolute path is relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<BTreeMap<String, String>>,
    /// A git bundle whose branch `main` is checked out: a file beside the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Names of demonstration MCP servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<Vec<String>>,
}

/// A further prompt of a scenario.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FollowUp {
    /// The prompt.
    pub prompt: String,
    /// The session of the prompt.
    #[serde(default)]
    pub session: FollowUpSession,
    /// The expected events, in order.
    pub expected_events: Vec<EventMatcher>,
}

/// The session of a further prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FollowUpSession {
    /// The previous session.
    #[default]
    Same,
    /// The previous session, resumed with `load_session`.
    Loaded,
    /// A new session.
    New,
    /// A session that does not exist.
    Unknown,
}

/// A matcher for one event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
#[non_exhaustive]
pub enum EventMatcher {
    /// Text that contains this; it may be split over several events.
    Text {
        /// The contained text.
        contains: String,
    },
    /// The start of a tool call.
    ToolStart {
        /// The tool's name, or an intent such as `shell`.
        name: String,
        /// What the input contains.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input_contains: Option<Value>,
    },
    /// The end of a tool call.
    ToolEnd {
        /// The tool's name, or an intent such as `shell`.
        name: String,
        /// Whether the tool call must have succeeded.
        success: bool,
    },
    /// The turn succeeded.
    Result {
        /// Text that the answer contains.
        contains: String,
    },
    /// The turn failed, or the session is invalid.
    Error {
        /// The error code; any if `None`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<ErrorCode>,
    },
    /// A backend-specific event.
    Custom {
        /// The kind of the event.
        kind: String,
    },
    /// Any events.
    Any {
        /// The number of events.
        count: usize,
    },
}

/// What must be true after a scenario.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioAssertions {
    /// Files by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, FileAssertion>,
    /// The id of the git tree of all files that are not ignored. Only with `setup.repository`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// What must be true of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileAssertion {
    /// The file contains this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// The file has exactly this content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<String>,
    /// The file does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<bool>,
}
