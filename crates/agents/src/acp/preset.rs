//! The description of an ACP agent, as data.

use std::path::Path;

use serde_json::Value;
use windlass_core::{Capabilities, PermissionPolicy};
use windlass_sandbox::Mechanism;

use crate::program::{AgentProgram, CommandLine, Endpoint};

/// One agent that speaks ACP.
#[derive(Debug)]
pub struct Preset {
    /// The program.
    pub program: &'static AgentProgram,
    /// The arguments that start it in ACP mode.
    pub args: &'static [&'static str],
    /// Its capabilities that are known before it runs.
    pub capabilities: Capabilities,
    /// Adds the arguments, variables and files of one process.
    pub launch_config: fn(&LaunchContext<'_>, &mut LaunchConfig),
    /// Builds the `_meta` of a session request from the project's instructions.
    pub meta: Option<fn(Option<&str>) -> Value>,
    /// Deviations from the protocol, or from other agents.
    pub quirks: Quirks,
}

impl Preset {
    /// Returns the agent's name.
    pub fn name(&self) -> &'static str {
        self.program.name
    }
}

/// The input of [`Preset::launch_config`].
#[derive(Debug, Clone, Copy)]
pub struct LaunchContext<'a> {
    /// The model endpoint to call, if it is not the agent's own.
    pub endpoint: Option<Endpoint<'a>>,
    /// The model to use.
    pub model: Option<&'a str>,
    /// The working directory.
    pub cwd: &'a Path,
    /// The directory where the agent stores its state, unless the user or an endpoint moved it.
    pub default_state_dir: Option<&'a Path>,
    /// Whether the agent must ask before it acts.
    pub asks_permission: bool,
    /// The sandbox mechanism.
    pub mechanism: Mechanism,
}

/// What a process is started with.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Arguments and environment variables; never a secret.
    pub command: CommandLine,
    /// Files in the agent's home; written only if Windlass manages that home.
    pub files: Vec<(&'static str, String)>,
}

/// Deviations of an agent.
#[derive(Debug)]
pub struct Quirks {
    /// The mode in which it acts without asking, if that is not its default.
    pub auto_mode: Option<&'static str>,
    /// The mode in which it asks, if that is not its default.
    pub ask_mode: Option<&'static str>,
    /// Whether the model is chosen at launch, and not per session.
    pub model_is_launch_arg: bool,
    /// Prefixes of answers that are notices to the user.
    pub notice_prefixes: &'static [&'static str],
    /// Prefixes of answers that are errors.
    pub error_prefixes: &'static [&'static str],
    /// Whether an answer without a message ID is an error if no tokens were used.
    pub errors_lack_message_id: bool,
    /// Where the tokens are counted.
    pub usage: UsageSource,
    /// Whether the counts are those of the session, not of the turn.
    pub running_total: bool,
    /// Whether the input tokens include those from the cache.
    pub input_includes_cached: bool,
    /// The text before a command's exit code in the last line of its output, if the code is reported nowhere
    /// else.
    pub exit_code_prefix: Option<&'static str>,
    /// Whether a tool keeps running after its turn was cancelled.
    pub tools_survive_cancel: bool,
    /// Its errors about a missing session, if they are too vague to be recognized otherwise.
    pub session_lost_phrases: &'static [&'static str],
    /// The directory of sessions that are destroyed when they are resumed within the minute of their creation.
    pub same_minute_session_dir: Option<&'static str>,
}

/// Where an agent reports its token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageSource {
    /// In the response to the prompt.
    Response,
    /// In the response, for the last step only.
    LastStep,
    /// In the response's `_meta`, under `quota`.
    Quota,
    /// In the `_meta` of empty text chunks, one for each model call.
    Chunks,
}

impl Quirks {
    /// The quirks of an agent that follows the protocol.
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

    /// Returns the mode for this policy, if the agent's default is not suitable.
    pub(super) fn mode(
        &self,
        policy: PermissionPolicy,
        asks_permission: bool,
    ) -> Option<&'static str> {
        match policy {
            PermissionPolicy::Allow if !asks_permission => self.auto_mode,
            _ => self.ask_mode,
        }
    }
}
