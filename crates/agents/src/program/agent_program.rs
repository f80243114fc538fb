//! The description of an agent program, as data.

use super::command_line::{CommandLine, Endpoint};
use crate::AgentContext;

/// One agent program: what is the same whichever way it is reached.
#[derive(Debug, Clone, Copy)]
pub struct AgentProgram {
    /// The agent's name.
    pub name: &'static str,
    /// Names of the program; the first one that is found is used.
    pub programs: &'static [&'static str],
    /// How to install it, as the start of a sentence.
    pub install: &'static str,
    /// How to log in after that, as the rest of the sentence.
    pub login: Option<&'static str>,
    /// How its version is determined.
    pub probe: VersionProbe,
    /// Where it stores sessions and settings.
    pub state: StatePaths,
    /// Files and directories in its first state directory of which one exists after a login.
    pub credentials: &'static [&'static str],
    /// Names of the project's instruction files that are passed to the agent as text; see `instructions.rs`.
    pub instructions: &'static [&'static str],
    /// The hosts that it needs: its models and the renewal of its login.
    pub hosts: &'static [&'static str],
    /// Environment variables that the agent reads its API key from, the preferred one first.
    pub keys: &'static [&'static str],
    /// The base URL of its maker's API, which it calls with a key and without another endpoint.
    pub provider: Option<&'static str>,
    /// The base URL of the API that it calls with a stored login, if it can call it elsewhere with that.
    pub login_provider: Option<&'static str>,
    /// Environment variables that every process of the agent gets.
    pub env: &'static [(&'static str, &'static str)],
    /// Configures another model endpoint, for agents that support one.
    pub endpoint: Option<fn(&Endpoint<'_>, &mut CommandLine)>,
}

impl AgentProgram {
    /// Returns how to install the program and log in.
    pub fn install_hint(&self) -> String {
        match self.login {
            Some(login) => format!("{}, then {login}", self.install),
            None => self.install.to_owned(),
        }
    }
}

/// How the version of a program is determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionProbe {
    /// By `--version`.
    Flag,
    /// By `--version`, which writes to the state directories.
    FlagWithState,
    /// Only by the protocol.
    Protocol,
}

/// Where an agent stores its state.
#[derive(Debug, Clone, Copy)]
pub struct StatePaths {
    /// The environment variable that moves the state; `HOME` moves everything.
    pub variable: &'static str,
    /// Its directories in the user's home.
    pub dirs: &'static [&'static str],
    /// Its files in the user's home, next to the directories.
    pub files: &'static [&'static str],
    /// The part of the first directory that has one file per session, if known. A file's name contains the
    /// session's ID.
    pub sessions: Option<&'static str>,
}

/// The model of an agent if none is set.
#[derive(Debug)]
pub struct DefaultModel {
    /// The environment variable that names another model.
    pub variable: &'static str,
    /// The model's name.
    pub name: &'static str,
}

impl DefaultModel {
    /// Returns the model that the environment names, otherwise the default.
    pub(crate) fn get(&self, context: &AgentContext) -> String {
        let named = context.sandbox().host().variable(self.variable);
        let named = named.and_then(|name| name.to_str()).map(str::trim);
        named
            .filter(|name| !name.is_empty())
            .unwrap_or(self.name)
            .to_owned()
    }
}
