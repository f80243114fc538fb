//! `composer-cli`: Cursor's agent as a model that only talks.
//!
//! Every prompt is a whole conversation (see [`transcript`](super::transcript)), and nothing is remembered. The agent
//! may read and answer, not act: it is always asked with `--mode=ask`. Its model is the setting's, or the session's,
//! which may be written `composer-cli/MODEL`.

use serde_json::Value;
use windlass_core::{AgentHandle, Capabilities, Result};

use super::{CliProfile, CommandLine, IoMode, RunContext, SessionNaming, Transport, cursor};
use crate::{AgentContext, Version};

/// The name, and what stands before a model that is asked for by it.
const NAME: &str = "composer-cli";

/// Everything about it.
pub const PROFILE: CliProfile = CliProfile {
    name: NAME,
    programs: &["agent", "cursor-agent"],
    transports: &[Transport {
        name: "text",
        since: Version(0, 0, 0),
        capabilities: Capabilities {
            streaming: false,
            load_session: false,
            tools: false,
            permissions: false,
            native_schema: false,
            mcp: false,
            model_choice: true,
            usage: false,
            cost: false,
        },
        naming: SessionNaming::InFirstTurn,
        command,
        temp_files: &[],
        io: IoMode::PlainText,
    }],
    ..cursor::PROFILE
};

/// Makes such agents from their configuration.
pub fn factory(
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    super::factory(&PROFILE, context)
}

/// The model that `composer-cli/MODEL` means; a name without that stands for itself.
pub fn model(name: &str) -> &str {
    let rest = name
        .strip_prefix(NAME)
        .and_then(|rest| rest.strip_prefix('/'));
    rest.unwrap_or(name)
}

/// What stands behind the prompt.
fn command(call: &RunContext<'_>) -> CommandLine {
    let mut command = CommandLine::default();
    if let Some(name) = call.model {
        command.option("model", model(name));
    }
    command.option("mode", "ask");
    command
}
