//! Qwen Code: its one-shot mode, which uses a variant of Claude's stream-json.

use serde_json::Value;
use windlass_core::{AgentHandle, Capabilities, DirAccess, PermissionPolicy, Result};

use super::claude::StreamJson;
use super::{CliProfile, IoMode, RunContext, SessionNaming, SessionStart, Transport};
use crate::AgentContext;
use crate::program::{CommandLine, Version, known};

/// The profile of Qwen Code.
pub const PROFILE: CliProfile = CliProfile {
    program: &known::qwen::PROGRAM,
    transports: &[Transport {
        name: "stream-json",
        since: Version(0, 20, 0),
        takes_profile: false,
        capabilities: Capabilities {
            // Qwen could stream, but then an error arrives in chunks that look like an answer.
            streaming: false,
            load_session: true,
            tools: true,
            permissions: false,
            native_schema: true,
            mcp: false,
            model_choice: true,
            usage: true,
            cost: false,
        },
        naming: SessionNaming::ByClient {
            taken: "is already in use",
        },
        command,
        temp_files: &[],
        io: IoMode::OneShot(|run| Box::new(StreamJson::qwen(run.before))),
    }],
    default_model: None,
};

/// Returns a factory that creates Qwen agents from their configuration.
pub fn factory(
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    super::factory(&PROFILE, context)
}

fn command(run: &RunContext<'_>) -> CommandLine {
    let mut command = CommandLine::default();
    command.option("output-format", "stream-json");
    command.option(
        "approval-mode",
        match run.permissions {
            _ if run.access == DirAccess::ReadOnly => "plan",
            PermissionPolicy::Allow => "yolo",
            _ => "default",
        },
    );
    if let Some(model) = run.model {
        command.option("model", model);
    }
    if let Some(schema) = run.schema {
        command.option("json-schema", &schema.to_string());
    }
    match run.start {
        SessionStart::Fresh => {}
        SessionStart::Named(id) => _ = command.option("session-id", id),
        SessionStart::Resume(id) => _ = command.option("resume", id),
    }
    command
}
