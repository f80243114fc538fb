//! The description of a command-line agent, as data.

use std::fmt;

use windlass_core::Capabilities;

use super::parser::{InteractiveParser, Parser};
use super::run_context::RunContext;
use crate::ProgramSettings;
use crate::program::{AgentProgram, CommandLine, DefaultModel, Version};

/// One agent that is driven by its command line.
#[derive(Debug)]
pub struct CliProfile {
    /// The program.
    pub program: &'static AgentProgram,
    /// The agent's transports, the best one first.
    pub transports: &'static [Transport],
    /// The model to use if none is set; otherwise the agent chooses.
    pub default_model: Option<DefaultModel>,
}

impl CliProfile {
    /// Returns the transports that these settings allow, the best one first.
    pub(super) fn usable_transports(
        &self,
        settings: &ProgramSettings,
    ) -> impl Iterator<Item = &'static Transport> {
        let needs_profile = settings.profile.is_some();
        let has_profiles = self.transports.iter().any(|one| one.takes_profile);
        let transports = self.transports.iter();
        transports.filter(move |one| one.takes_profile || !(needs_profile && has_profiles))
    }

    /// Returns the agent's name.
    pub fn name(&self) -> &'static str {
        self.program.name
    }
}

/// One way of communicating with an agent.
#[derive(Debug)]
pub struct Transport {
    /// The name, as shown to users and used in the setting `transport`.
    pub name: &'static str,
    /// The first version that has the transport in the supported form.
    pub since: Version,
    /// Whether one of the profiles in the agent's own configuration can be selected.
    pub takes_profile: bool,
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
    /// One process for many turns, with open standard input.
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
