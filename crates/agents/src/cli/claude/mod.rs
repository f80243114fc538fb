//! Claude Code: bidirectional stream-json for sessions, `claude -p` for one answer per process.

mod control;
mod result;
mod stream;
mod turn_state;

use serde_json::Value;
use windlass_core::{AgentHandle, Capabilities, DirAccess, Result};

pub use control::ControlSession;
pub use stream::StreamJson;

use super::{
    CliProfile, IoMode, PermissionGate, RunContext, SessionNaming, SessionStart, TempFileKind,
    Transport,
};
use crate::AgentContext;
use crate::program::{CommandLine, Version, known};

/// Claude's retry limit. Its default of ten would take minutes to report a wrong key.
const RETRIES: &str = "3";

/// The profile of Claude Code.
pub const PROFILE: CliProfile = CliProfile {
    program: &known::claude::PROGRAM,
    transports: &[TWO_WAY, PRINT],
    default_model: None,
};

const TWO_WAY: Transport = Transport {
    name: "stream-json",
    since: Version(2, 0, 0),
    takes_profile: false,
    capabilities: Capabilities {
        streaming: true,
        load_session: true,
        tools: true,
        permissions: true,
        native_schema: true,
        mcp: true,
        model_choice: true,
        usage: true,
        cost: true,
    },
    naming: SESSION_NAMING,
    command: two_way_command,
    temp_files: &[TempFileKind::McpServers],
    io: IoMode::Interactive(|run| Box::new(ControlSession::new(run, run.before))),
};

const PRINT: Transport = Transport {
    name: "print",
    since: Version(1, 0, 0),
    takes_profile: false,
    capabilities: Capabilities {
        permissions: false,
        ..TWO_WAY.capabilities
    },
    naming: SESSION_NAMING,
    command: print_command,
    temp_files: &[TempFileKind::McpServers],
    io: IoMode::OneShot(|run| Box::new(StreamJson::claude(run.before))),
};

const SESSION_NAMING: SessionNaming = SessionNaming::ByClient {
    taken: "is already in use",
};

/// Returns a factory that creates Claude agents from their configuration.
pub fn factory(
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    super::factory(&PROFILE, context)
}

fn two_way_command(run: &RunContext<'_>) -> CommandLine {
    let mut command = common(run);
    command.option("input-format", "stream-json");
    command.option("permission-prompt-tool", "stdio");
    command
}

fn print_command(run: &RunContext<'_>) -> CommandLine {
    let mut command = common(run);
    if run.access != DirAccess::ReadOnly && PermissionGate::allows_everything(run) {
        command.option("permission-mode", "bypassPermissions");
    }
    command
}

fn common(run: &RunContext<'_>) -> CommandLine {
    let mut command = CommandLine::new(["-p", "--verbose", "--include-partial-messages"]);
    command.option("output-format", "stream-json");
    // A repository's `.claude` and `.mcp.json` may run commands, so they are not applied. Its instructions are
    // passed as text.
    command
        .option("setting-sources", "user")
        .arg("--strict-mcp-config");
    if run.access == DirAccess::ReadOnly {
        command.option("permission-mode", "plan");
    }
    if let Some(instructions) = run.instructions {
        command.option("append-system-prompt", instructions);
    }
    if let Some(file) = run.servers_file {
        command.option("mcp-config", &file.display().to_string());
    }
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
    command.env("CLAUDE_CODE_MAX_RETRIES", RETRIES);
    command
}
