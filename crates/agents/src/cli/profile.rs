//! What there is to know about an agent, as data.

use std::fmt;

use windlass_core::Capabilities;

use super::parser::{InteractiveParser, Parser};
use super::run_context::{CommandLine, Endpoint, RunContext};
use crate::Version;

/// One agent: its program, its ways of talking, its places.
#[derive(Debug)]
pub struct CliProfile {
    /// The agent's one name.
    pub name: &'static str,
    /// What its program is called, the first that is found wins.
    pub programs: &'static [&'static str],
    /// How to get it.
    pub install: &'static str,
    /// Where it keeps sessions and settings.
    pub home: CliStatePaths,
    /// Where a project instructs it, if we hand that on: see `instructions.rs`.
    pub instructions: &'static [&'static str],
    /// The variables in which it looks for its key, the usual one first.
    pub keys: &'static [&'static str],
    /// How it is pointed at another model endpoint, where it can be.
    pub endpoint: Option<fn(&Endpoint<'_>, &mut CommandLine)>,
    /// How it can be talked to, the best way first.
    pub transports: &'static [Transport],
}

/// Where an agent keeps what is its own.
#[derive(Debug)]
pub struct CliStatePaths {
    /// The variable that moves it.
    pub variable: &'static str,
    /// The folder in the user's home where it is otherwise.
    pub folder: &'static str,
    /// Files beside that folder.
    pub files: &'static [&'static str],
    /// The folder in it where each session has a file of its name, where that is known.
    pub sessions: Option<&'static str>,
}

/// One way of talking to an agent.
#[derive(Debug)]
pub struct Transport {
    /// Its name, for people and for the setting `transport`.
    pub name: &'static str,
    /// The first version that has it in the form we speak.
    pub since: Version,
    /// What the agent can do this way.
    pub capabilities: Capabilities,
    /// Who names a session, and when.
    pub naming: SessionNaming,
    /// Arguments and variables of one run.
    pub command: fn(&RunContext<'_>) -> CommandLine,
    /// What it has to be handed in a file.
    pub temp_files: &'static [TempFileKind],
    /// What reads its output.
    pub io: IoMode,
}

/// Something that an agent is handed in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TempFileKind {
    /// The schema that answers must fit.
    Schema,
    /// The session's MCP servers: their variables may be secret, and arguments are for all to see.
    McpServers,
}

/// How a process is spoken with.
#[derive(Clone, Copy)]
pub enum IoMode {
    /// One process for each turn: the prompt on standard input, then its end.
    OneShot(fn(&RunContext<'_>) -> Box<dyn Parser>),
    /// One process for many turns, with standard input kept open.
    Interactive(fn(&RunContext<'_>) -> Box<dyn InteractiveParser>),
    /// One process for each turn, which is told the whole conversation and whose whole output is the answer.
    PlainText,
}

impl fmt::Debug for IoMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneShot(_) => "Once",
            Self::Interactive(_) => "Dialog",
            Self::PlainText => "Plain",
        })
    }
}

/// Who names a session, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionNaming {
    /// We choose the name before the first turn.
    ByClient {
        /// What the agent says if it has a session of that name already.
        taken: &'static str,
    },
    /// The agent says it when the process has started, before any turn.
    AtStart,
    /// The agent says it in the first turn; until then the session has a name for the time being.
    InFirstTurn,
}
