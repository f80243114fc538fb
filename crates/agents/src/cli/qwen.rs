//! Qwen Code: its one-shot mode, which uses a variant of Claude's stream-json.

use serde_json::Value;
use windlass_core::{AgentHandle, Capabilities, PermissionPolicy, Result};

use super::claude::{StreamJson, StreamJsonQuirks};
use super::{
    CliProfile, CliStatePaths, CommandLine, Endpoint, IoMode, RunContext, SessionNaming,
    SessionStart, Transport,
};
use crate::{AgentContext, Version};

/// The profile of Qwen Code.
pub const PROFILE: CliProfile = CliProfile {
    name: "qwen",
    programs: &["qwen"],
    install: "install it with `npm install -g @qwen-code/qwen-code` (Node 22 or later), then run `qwen` once to log in",
    home: CliStatePaths {
        variable: "HOME",
        dir: ".qwen",
        files: &[],
        sessions: None,
    },
    // Qwen reads them on its own.
    instructions: &[],
    keys: &["OPENAI_API_KEY"],
    endpoint: Some(endpoint),
    transports: &[Transport {
        name: "stream-json",
        since: Version(0, 20, 0),
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
};

pub(super) const QUIRKS: StreamJsonQuirks = StreamJsonQuirks {
    agent: "qwen",
    input_includes_cached: true,
    running_total: true,
    errors_in_answers: true,
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

fn endpoint(endpoint: &Endpoint<'_>, command: &mut CommandLine) {
    command.option("auth-type", "openai");
    command.env("OPENAI_BASE_URL", endpoint.url_with_version());
    if !endpoint.has_key {
        // Qwen does not start without a key.
        command.env("OPENAI_API_KEY", "none");
    }
}
