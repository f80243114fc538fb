//! Claude Code, and `claude-agent-acp`, which speaks ACP for it.

use crate::program::{AgentProgram, CommandLine, Endpoint, EndpointAuth, StatePaths, VersionProbe};

const KEY: &str = "ANTHROPIC_API_KEY";

/// Its models, and the renewal of its login.
const HOSTS: &[&str] = &[
    "api.anthropic.com",
    "claude.ai",
    "console.anthropic.com",
    "platform.claude.com",
    "statsig.anthropic.com",
];

/// Claude Code.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "claude",
    programs: &["claude"],
    install: "install it with `npm install -g @anthropic-ai/claude-code` (Node 22 or later)",
    login: Some("run `claude` once to log in"),
    probe: VersionProbe::Flag,
    state: StatePaths {
        variable: "CLAUDE_CONFIG_DIR",
        dirs: &[".claude"],
        files: &[".claude.json"],
        sessions: Some("projects"),
    },
    credentials: &[".credentials.json"],
    instructions: &["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"],
    hosts: HOSTS,
    keys: &[KEY, "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    provider: Some("https://api.anthropic.com"),
    login_provider: Some("https://api.anthropic.com"),
    env: &[
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ],
    endpoint: Some(endpoint),
};

/// The program that speaks ACP for Claude Code.
pub(crate) const ACP_PROGRAM: AgentProgram = AgentProgram {
    name: "claude-agent-acp",
    programs: &["claude-agent-acp"],
    install: "install it with `npm install -g @agentclientprotocol/claude-agent-acp` (Node 22 or later)",
    probe: VersionProbe::Protocol,
    ..PROGRAM
};

fn endpoint(endpoint: &Endpoint<'_>, command: &mut CommandLine) {
    command.env("ANTHROPIC_BASE_URL", endpoint.url_without_version());
    if endpoint.auth == EndpointAuth::None {
        // Claude does not start without a key.
        command.env(KEY, "none");
    }
}
