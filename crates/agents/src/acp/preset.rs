//! What there is to know about an agent that speaks ACP, as data.

use std::path::Path;

use serde_json::Value;
use windlass_core::{Capabilities, PermissionPolicy};
use windlass_sandbox::Mechanism;

use crate::cli::{CommandLine, Endpoint};

/// One agent: its program, its places, and what it does otherwise than the others.
#[derive(Debug)]
pub struct Preset {
    /// The agent's one name.
    pub name: &'static str,
    /// What its program is called, the first that is found wins.
    pub programs: &'static [&'static str],
    /// The arguments that make it speak ACP.
    pub args: &'static [&'static str],
    /// How to get it.
    pub install: &'static str,
    /// How it says its version.
    pub probe: VersionProbe,
    /// Where it keeps sessions and settings.
    pub home: AcpStatePaths,
    /// The variables in which it looks for its key, the usual one first.
    pub keys: &'static [&'static str],
    /// Whether it can be pointed at another model endpoint.
    pub endpoint: bool,
    /// What it can do, as far as that is known before it runs.
    pub capabilities: Capabilities,
    /// Adds what one process is to be started with.
    pub launch_config: fn(&LaunchContext<'_>, &mut LaunchConfig),
    /// Files in which a project says what it wants of agents, where the agent is kept from reading them itself.
    pub words: &'static [&'static str],
    /// What goes with the request for a session; it is handed the project's words.
    pub meta: Option<fn(Option<&str>) -> Value>,
    /// What it does otherwise than the protocol, or the others, have it.
    pub shims: Quirks,
}

/// How an agent says its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionProbe {
    /// When called with `--version`.
    Flag,
    /// Only in the protocol.
    Protocol,
}

/// Where an agent keeps what is its own.
#[derive(Debug)]
pub struct AcpStatePaths {
    /// The variable that moves it; `HOME` moves everything.
    pub variable: &'static str,
    /// Its folders in the user's home.
    pub folders: &'static [&'static str],
    /// Its files there.
    pub files: &'static [&'static str],
}

/// What a process is wanted for.
#[derive(Debug, Clone, Copy)]
pub struct LaunchContext<'a> {
    /// The model endpoint that it is to call, if not its own.
    pub endpoint: Option<Endpoint<'a>>,
    /// The model to use.
    pub model: Option<&'a str>,
    /// Where it works.
    pub cwd: &'a Path,
    /// Whether it has to ask before it acts.
    pub asks_permission: bool,
    /// What holds it in.
    pub mechanism: Mechanism,
}

/// What a process is started with.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Arguments and variables; never a secret.
    pub command: CommandLine,
    /// Files below the agent's own home: written only where that home is ours.
    pub files: Vec<(&'static str, String)>,
}

/// What an agent does otherwise.
#[derive(Debug)]
pub struct Quirks {
    /// The mode in which it acts without asking, where it would not by itself.
    pub auto_mode: Option<&'static str>,
    /// The mode in which it asks, where it would not by itself.
    pub ask_mode: Option<&'static str>,
    /// Whether the model is said at the start, and not to the session.
    pub model_is_launch_arg: bool,
    /// How answers begin that are none: notices to a person.
    pub notice_prefixes: &'static [&'static str],
    /// How answers begin that are errors.
    pub error_prefixes: &'static [&'static str],
    /// Whether an answer without a message's id is an error if nothing was consumed.
    pub errors_lack_message_id: bool,
    /// Where the tokens are counted.
    pub usage: UsageSource,
    /// Whether the count is of the session and not of the turn.
    pub running_total: bool,
    /// Whether the input holds what came from the cache.
    pub input_includes_cached: bool,
    /// The words before a command's exit code in the last line of its output, where that is the only place for it.
    pub exit_code_prefix: Option<&'static str>,
    /// Whether a tool runs on when its turn was cancelled.
    pub tools_survive_cancel: bool,
    /// What it says of a session that it does not have, where that could mean anything.
    pub session_lost_phrases: &'static [&'static str],
    /// The folder of sessions that do not survive being taken up in the minute in which they began.
    pub same_minute_session_dir: Option<&'static str>,
}

/// Where an agent counts its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageSource {
    /// In the answer to the prompt.
    Response,
    /// In the answer, of the last step only.
    LastStep,
    /// In what goes with the answer, under `quota`.
    Quota,
    /// In what goes with empty pieces of text, one for each call of the model.
    Chunks,
}

impl Quirks {
    /// An agent that does as the protocol says.
    pub const NONE: Self = Self {
        auto_mode: None,
        ask_mode: None,
        model_is_launch_arg: false,
        notice_prefixes: &[],
        error_prefixes: &[],
        errors_lack_message_id: false,
        usage: UsageSource::Response,
        running_total: false,
        input_includes_cached: false,
        exit_code_prefix: None,
        tools_survive_cancel: false,
        session_lost_phrases: &[],
        same_minute_session_dir: None,
    };

    /// The mode for this policy, where the agent's own would not do.
    pub(super) fn mode(&self, policy: PermissionPolicy, asks: bool) -> Option<&'static str> {
        match policy {
            PermissionPolicy::Allow if !asks => self.auto_mode,
            _ => self.ask_mode,
        }
    }
}
