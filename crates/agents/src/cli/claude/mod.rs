//! Claude Code: two-way stream-json for sessions, `claude -p` for one answer per process.

mod control;
mod outcome;
mod stream;

use serde_json::Value;
use windlass_core::{AgentHandle, Capabilities, Result};

pub use control::TwoWay;
pub use stream::StreamJson;

pub(super) use stream::Accent;

use super::{Call, Command, Door, Endpoint, Gate, Home, Naming, Paper, Profile, Start, Transport};
use crate::{AgentContext, Version};

const KEY: &str = "ANTHROPIC_API_KEY";

/// How often Claude tries again by itself. Its own ten would take minutes to say that a key is wrong.
const RETRIES: &str = "3";

/// Everything about Claude Code that is not its output.
pub const PROFILE: Profile = Profile {
    name: "claude",
    programs: &["claude"],
    install: "install it with `npm install -g @anthropic-ai/claude-code` (Node 22 or later), then run `claude` once to log in",
    home: Home {
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
    naming: CHOSEN,
    command: two_way_command,
    papers: &[Paper::Servers],
    door: Door::Dialog(|call| Box::new(TwoWay::new(call, call.before))),
};

const PRINT: Transport = Transport {
    name: "print",
    since: Version(1, 0, 0),
    capabilities: Capabilities {
        permissions: false,
        ..TWO_WAY.capabilities
    },
    naming: CHOSEN,
    command: print_command,
    papers: &[Paper::Servers],
    door: Door::Once(|call| Box::new(StreamJson::claude(call.before))),
};

const CHOSEN: Naming = Naming::Chosen {
    taken: "is already in use",
};

const ACCENT: Accent = Accent {
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

fn two_way_command(call: &Call<'_>) -> Command {
    let mut command = common(call);
    command.option("input-format", "stream-json");
    command.option("permission-prompt-tool", "stdio");
    command
}

fn print_command(call: &Call<'_>) -> Command {
    let mut command = common(call);
    if Gate::is_open(call) {
        command.option("permission-mode", "bypassPermissions");
    }
    command
}

fn common(call: &Call<'_>) -> Command {
    let mut command = Command::new(["-p", "--verbose", "--include-partial-messages"]);
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
        Start::Fresh => {}
        Start::Named(id) => _ = command.option("session-id", id),
        Start::Resume(id) => _ = command.option("resume", id),
    }
    command.env("CLAUDE_CODE_MAX_RETRIES", RETRIES);
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    command.env("DISABLE_AUTOUPDATER", "1");
    command
}

fn endpoint(endpoint: &Endpoint<'_>, command: &mut Command) {
    command.env("ANTHROPIC_BASE_URL", endpoint.bare());
    if !endpoint.has_key {
        // Claude does not start without one.
        command.env(KEY, "none");
    }
}
