//! The description of an agent program, as data.

use std::fmt;

use windlass_core::Capabilities;

use super::parser::{InteractiveParser, Parser};
use super::run_context::{CommandLine, Endpoint, RunContext};
use crate::Version;

/// One agent: its program, its transports and its paths.
#[derive(Debug)]
pub struct CliProfile {
    /// The agent's name.
    pub name: &'static str,
    /// Names of its program; the first one that is found is used.
    pub programs: &'static [&'static str],
    /// How to install it.
    pub install: &'static str,
    /// Where it stores sessions and settings.
    pub home: CliStatePaths,
    /// Names of the project's instruction files that are passed to the agent as text; see `instructions.rs`.
    pub instructions: &'static [&'static str],
    /// Environment variables that the agent reads its API key from, the preferred one first.
    pub keys: &'static [&'static str],
    /// Configures another model endpoint, for agents that support one.
    pub endpoint: Option<fn(&Endpoint<'_>, &mut CommandLine)>,
    /// The agent's transports, the best one first.
    pub transports: &'static [Transport],
}

/// Where an agent stores its state.
#[derive(Debug)]
pub struct CliStatePaths {
    /// The environment variable that moves the state directory.
    pub variable: &'static str,
    /// The default state directory, relative to the user's home.
    pub dir: &'static str,
    /// Files next to that directory.
    pub files: &'static [&'static str],
    /// The subdirectory that has one file per session, if known. A file's name contains the session's ID.
    pub sessions: Option<&'static str>,
}

/// One way of communicating with an agent.
#[derive(Debug)]
pub struct Transport {
    /// The name, as shown to users and used in the setting `transport`.
    pub name: &'static str,
    /// The first version that has the transport in the supported form.
    pub since: Version,
    /// What the agent supports over this transport.
    pub capabilities: Capabilities,
    /// When a session gets its ID, and from which side.
    pub naming: SessionNaming,
    /// Builds the arguments and environment variables of one run.
    pub command: fn(&RunContext<'_>) -> CommandLine,
    /// Data that the agent must get as a file.
    pub temp_files: &'static [TempFileKind],
    /// How the process is driven and its output parsed.
    pub io: IoMode,
}

/// Data that is passed to an agent as a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TempFileKind {
    /// The JSON Schema that answers must match.
    Schema,
    /// The session's MCP servers. Their variables may be secret, and every user of the machine can read
    /// arguments.
    McpServers,
}

/// How a process is driven.
#[derive(Clone, Copy)]
pub enum IoMode {
    /// One process per turn: the prompt on standard input, then EOF.
    OneShot(fn(&RunContext<'_>) -> Box<dyn Parser>),
    /// One process for many turns, with standard input kept open.
    Interactive(fn(&RunContext<'_>) -> Box<dyn InteractiveParser>),
    /// One process per turn. It gets the whole conversation, and its whole output is the answer.
    PlainText,
}

impl fmt::Debug for IoMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneShot(_) => "OneShot",
            Self::Interactive(_) => "Interactive",
            Self::PlainText => "PlainText",
        })
    }
}

/// When a session gets its ID, and from which side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionNaming {
    /// The client chooses the ID before the first turn.
    ByClient {
        /// The agent's error message if it already has a session with that ID.
        taken: &'static str,
    },
    /// The agent reports the ID when the process has started, before any turn.
    AtStart,
    /// The agent reports the ID in the first turn; until then the session has a temporary one.
    InFirstTurn,
}
