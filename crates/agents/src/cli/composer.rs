//! `composer-cli`: Cursor's agent as a model without tools.
//!
//! Every prompt is a whole conversation (see [`transcript`](super::transcript)), and nothing is remembered. The
//! agent may read and answer, not act: it always runs with `--mode=ask`. The model comes from the settings or
//! the session, and may be written `composer-cli/MODEL`.

use serde_json::Value;
use windlass_core::{AgentHandle, Capabilities, Result};

use super::{CliProfile, IoMode, RunContext, SessionNaming, Transport};
use crate::AgentContext;
use crate::program::{CommandLine, Version, known};

/// The agent's name, and the prefix of a model that is requested through it.
const NAME: &str = known::cursor::COMPOSER.name;

/// The profile.
pub const PROFILE: CliProfile = CliProfile {
    program: &known::cursor::COMPOSER,
    transports: &[Transport {
        name: "text",
        since: Version(0, 0, 0),
        takes_profile: false,
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
    default_model: None,
};

/// Returns a factory that creates such agents from their configuration.
pub fn factory(
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    super::factory(&PROFILE, context)
}

/// Returns the model in `composer-cli/MODEL`. A name without the prefix is returned unchanged.
pub fn model(name: &str) -> &str {
    let rest = name
        .strip_prefix(NAME)
        .and_then(|rest| rest.strip_prefix('/'));
    rest.unwrap_or(name)
}

/// Builds the arguments after the prompt.
fn command(run: &RunContext<'_>) -> CommandLine {
    let mut command = CommandLine::default();
    if let Some(name) = run.model {
        command.option("model", model(name));
    }
    command.option("mode", "ask");
    command
}
