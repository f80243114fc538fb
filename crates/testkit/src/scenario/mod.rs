//! Scenarios: what an agent is asked, what should be seen, and what should be in the files afterwards.
//!
//! A scenario is a JSON file and carries the script of the model it is played on, so that one file runs
//! against three subjects: an agent that plays the script itself, a recording, and a real agent whose model
//! is scripted. `docs/scenarios.md` says how expected events are matched.

mod assertions;
mod cassettes;
mod junit;
mod load;
mod matching;
mod report;
mod run;
mod subject;
mod tools;
mod workspace;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::ErrorCode;
use windlass_gateway::Script;

pub use cassettes::{CassetteDir, RecordingSubject};
pub use load::{LoadError, load_scenarios};
pub use report::{ScenarioOutcome, ScenarioReport, ScenarioResult};
pub use run::{run_scenarios, run_scenarios_on};
pub use subject::{Cleanup, PreparedAgent, ScenarioContext, ScenarioSubject, ScriptedSubject};

/// One thing that an agent should be able to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// What it is about, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What must be there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<ScenarioSetup>,
    /// What the agent is asked.
    pub prompt: String,
    /// What should be seen, in order.
    pub expected_events: Vec<EventMatcher>,
    /// What the agent is asked after that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<FollowUp>,
    /// The turn is cancelled when this has been seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_on: Option<EventMatcher>,
    /// What must be so afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assertions: Option<ScenarioAssertions>,
    /// Whom it is not for, and why: an agent that cannot do it, or does not tell of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_for: BTreeMap<String, String>,
    /// How long one turn may take; a minute without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// What the agent's model says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
}

/// What must be there before a scenario begins.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioSetup {
    /// Files by path. A path from the root is taken to start at the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<BTreeMap<String, String>>,
    /// MCP servers by the names of the demonstration servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<Vec<String>>,
}

/// One more prompt of a scenario.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FollowUp {
    /// What the agent is asked.
    pub prompt: String,
    /// In which session.
    #[serde(default)]
    pub session: FollowUpSession,
    /// What should be seen, in order.
    pub expected_events: Vec<EventMatcher>,
}

/// The session of a further prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FollowUpSession {
    /// The one before, as it is.
    #[default]
    Same,
    /// The one before, taken up again with `load_session`.
    Loaded,
    /// A new one.
    New,
    /// One that nobody began.
    Unknown,
}

/// What one event should be like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
#[non_exhaustive]
pub enum EventMatcher {
    /// Text that contains this; it may come in pieces.
    Text {
        /// What it contains.
        contains: String,
    },
    /// A tool that begins.
    ToolStart {
        /// The tool's name, or an intent such as `shell`.
        name: String,
        /// What the input contains.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input_contains: Option<Value>,
    },
    /// A tool that ends.
    ToolEnd {
        /// The tool's name, or an intent such as `shell`.
        name: String,
        /// Whether it should have done what it was asked.
        success: bool,
    },
    /// The end, as hoped.
    Result {
        /// What the answer contains.
        contains: String,
    },
    /// The end, by a fault or because the session is gone.
    Error {
        /// The kind of fault; any without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<ErrorCode>,
    },
    /// An event of the agent's own.
    Custom {
        /// What it is.
        kind: String,
    },
    /// Events, whatever they are.
    Any {
        /// How many.
        count: usize,
    },
}

/// What must be so after a scenario.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioAssertions {
    /// Files by path.
    #[serde(default)]
    pub files: BTreeMap<String, FileAssertion>,
}

/// What must be so of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileAssertion {
    /// It contains this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// It is exactly this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<String>,
    /// It is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<bool>,
}
