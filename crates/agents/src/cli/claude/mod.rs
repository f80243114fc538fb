//! Claude Code: two-way stream-json for sessions, `claude -p` for one answer per process.

mod control;
mod result;
mod stream;

use serde_json::Value;
use windlass_core::{AgentHandle, Capabilities, Result};

pub use control::ControlSession;
pub use stream::StreamJson;

pub(super) use stream::StreamJsonQuirks;

use super::{
    CliProfile, CliStatePaths, CommandLine, Endpoint, IoMode, PermissionGate, RunContext,
    SessionNaming, SessionStart, TempFileKind, Transport,
};
use crate::{AgentContext, Version};

const KEY: &str = "ANTHROPIC_API_KEY";

/// How often Claude tries again by itself. Its own ten would take minutes to say that a key is wrong.
const RETRIES: &str = "3";

/// Everything about Claude Code that is not its output.
pub const PROFILE: CliProfile = CliProfile {
    name: "claude",
    programs: &["claude"],
    install: "install it with `npm install -g @anthropic-ai/claude-code` (Node 22 or later), then run `claude` once to log in",
    home: CliStatePaths {
        variable: "CLAUDE_CONFIG_DIR",
        folder: ".claude",
        files: &[".claude.json"],
        sessions: Some("projects"),
    },
    instructions: &["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"],
    keys: &[KEY, "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    endpoint: Some(endpoint),
    transports: &[TWO_WAY, PRINT],
};

const TWO_WAY: Transport = Transport {
    name: "stream-json",
    since: Version(2, 0, 0),
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
    io: IoMode::Interactive(|call| Box::new(ControlSession::new(call, call.before))),
};

const PRINT: Transport = Transport {
    name: "print",
    since: Version(1, 0, 0),
    capabilities: Capabilities {
        permissions: false,
        ..TWO_WAY.capabilities
    },
    naming: SESSION_NAMING,
    command: print_command,
    temp_files: &[TempFileKind::McpServers],
    io: IoMode::OneShot(|call| Box::new(StreamJson::claude(call.before))),
};

const SESSION_NAMING: SessionNaming = SessionNaming::ByClient {
    taken: "is already in use",
};

const QUIRKS: StreamJsonQuirks = StreamJsonQuirks {
    agent: "claude",
    input_holds_cached: false,
    running_total: false,
    errors_in_answers: false,
};

/// Makes Claude agents from their configuration.
pub fn factory(
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    super::factory(&PROFILE, context)
}

fn two_way_command(call: &RunContext<'_>) -> CommandLine {
    let mut command = common(call);
    command.option("input-format", "stream-json");
    command.option("permission-prompt-tool", "stdio");
    command
}

fn print_command(call: &RunContext<'_>) -> CommandLine {
    let mut command = common(call);
    if PermissionGate::allows_everything(call) {
        command.option("permission-mode", "bypassPermissions");
    }
    command
}

fn common(call: &RunContext<'_>) -> CommandLine {
    let mut command = CommandLine::new(["-p", "--verbose", "--include-partial-messages"]);
    command.option("output-format", "stream-json");
    // What a repository says in `.claude` and `.mcp.json` may run commands: it is not obeyed. Its words are heard.
    command
        .option("setting-sources", "user")
        .arg("--strict-mcp-config");
    if let Some(words) = call.instructions {
        command.option("append-system-prompt", words);
    }
    if let Some(file) = call.servers_file {
        command.option("mcp-config", &file.display().to_string());
    }
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
    command.env("CLAUDE_CODE_MAX_RETRIES", RETRIES);
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    command.env("DISABLE_AUTOUPDATER", "1");
    command
}

fn endpoint(endpoint: &Endpoint<'_>, command: &mut CommandLine) {
    command.env("ANTHROPIC_BASE_URL", endpoint.url_without_version());
    if !endpoint.has_key {
        // Claude does not start without one.
        command.env(KEY, "none");
    }
}
