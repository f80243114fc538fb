//! Qwen Code: its one-shot mode, which speaks Claude's stream-json with an accent.

use serde_json::Value;
use windlass_core::{AgentHandle, Capabilities, PermissionPolicy, Result};

use super::claude::{StreamJson, StreamJsonQuirks};
use super::{
    CliProfile, CliStatePaths, CommandLine, Endpoint, IoMode, RunContext, SessionNaming,
    SessionStart, Transport,
};
use crate::{AgentContext, Version};

/// Everything about Qwen Code that is not its output.
pub const PROFILE: CliProfile = CliProfile {
    name: "qwen",
    programs: &["qwen"],
    install: "install it with `npm install -g @qwen-code/qwen-code` (Node 22 or later), then run `qwen` once to log in",
    home: CliStatePaths {
        variable: "HOME",
        folder: ".qwen",
        files: &[],
        sessions: None,
    },
    // It reads them by itself.
    instructions: &[],
    keys: &["OPENAI_API_KEY"],
    endpoint: Some(endpoint),
    transports: &[Transport {
        name: "stream-json",
        since: Version(0, 20, 0),
        capabilities: Capabilities {
            // It could stream, but then an error comes in pieces that look like an answer.
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
        io: IoMode::OneShot(|call| Box::new(StreamJson::qwen(call.before))),
    }],
};

pub(super) const QUIRKS: StreamJsonQuirks = StreamJsonQuirks {
    agent: "qwen",
    input_holds_cached: true,
    running_total: true,
    errors_in_answers: true,
};

/// Makes Qwen agents from their configuration.
pub fn factory(
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    super::factory(&PROFILE, context)
}

fn command(call: &RunContext<'_>) -> CommandLine {
    let mut command = CommandLine::default();
    command.option("output-format", "stream-json");
    command.option(
        "approval-mode",
        match call.permissions {
            PermissionPolicy::Allow => "yolo",
            _ => "default",
        },
    );
    if let Some(model) = call.model {
        command.option("model", model);
    }
    if let Some(schema) = call.schema {
        command.option("json-schema", &schema.to_string());
    }
    match call.start {
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
        // Qwen does not start without one.
        command.env("OPENAI_API_KEY", "none");
    }
}
