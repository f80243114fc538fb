//! What there is to know about an agent, as data.

use std::fmt;

use windlass_core::Capabilities;

use super::call::{Call, Command, Endpoint};
use super::parser::{Dialog, Parser};
use crate::Version;

/// One agent: its program, its ways of talking, its places.
#[derive(Debug)]
pub struct Profile {
    /// The agent's one name.
    pub name: &'static str,
    /// What its program is called, the first that is found wins.
    pub programs: &'static [&'static str],
    /// How to get it.
    pub install: &'static str,
    /// Where it keeps sessions and settings.
    pub home: Home,
    /// Where a project instructs it, if we hand that on: see `instructions.rs`.
    pub instructions: &'static [&'static str],
    /// The variables in which it looks for its key, the usual one first.
    pub keys: &'static [&'static str],
    /// How it is pointed at another model endpoint, where it can be.
    pub endpoint: Option<fn(&Endpoint<'_>, &mut Command)>,
    /// How it can be talked to, the best way first.
    pub transports: &'static [Transport],
}

/// Where an agent keeps what is its own.
#[derive(Debug)]
pub struct Home {
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
    pub naming: Naming,
    /// Arguments and variables of one run.
    pub command: fn(&Call<'_>) -> Command,
    /// What it has to be handed in a file.
    pub papers: &'static [Paper],
    /// What reads its output.
    pub door: Door,
}

/// Something that an agent is handed in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paper {
    /// The schema that answers must fit.
    Schema,
    /// The session's MCP servers: their variables may be secret, and arguments are for all to see.
    Servers,
}

/// How a process is spoken with.
#[derive(Clone, Copy)]
pub enum Door {
    /// One process for each turn: the prompt on standard input, then its end.
    Once(fn(&Call<'_>) -> Box<dyn Parser>),
    /// One process for many turns, with standard input kept open.
    Dialog(fn(&Call<'_>) -> Box<dyn Dialog>),
    /// One process for each turn, which is told the whole conversation and whose whole output is the answer.
    Plain,
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Once(_) => "Once",
            Self::Dialog(_) => "Dialog",
            Self::Plain => "Plain",
        })
    }
}

/// Who names a session, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// We choose the name before the first turn.
    Chosen {
        /// What the agent says if it has a session of that name already.
        taken: &'static str,
    },
    /// The agent says it when the process has started, before any turn.
    Announced,
    /// The agent says it in the first turn; until then the session has a name for the time being.
    Late,
}
