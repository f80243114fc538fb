//! Claude Code through `claude-agent-acp`.

use serde_json::{Value, json};
use windlass_core::Capabilities;

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{
    AcpStatePaths, LaunchConfig, LaunchContext, Preset, Quirks, VersionProbe,
};

pub(super) const PRESET: Preset = Preset {
    name: "claude-agent-acp",
    programs: &["claude-agent-acp"],
    args: &[],
    install: "install it with `npm install -g @agentclientprotocol/claude-agent-acp` (Node 22 or later), then run `claude` once to log in",
    probe: VersionProbe::Protocol,
    home: AcpStatePaths {
        variable: "CLAUDE_CONFIG_DIR",
        dirs: &[".claude"],
        files: &[".claude.json"],
    },
    keys: &["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"],
    endpoint: true,
    capabilities: Capabilities {
        cost: true,
        ..COMMON_CAPABILITIES
    },
    launch_config,
    instructions: &["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"],
    meta: Some(meta),
    quirks: Quirks {
        model_is_launch_arg: true,
        error_prefixes: &["API Error: ", "Failed to authenticate. API Error: "],
        ..Quirks::NONE
    },
};

/// A repository's `.claude` and `.mcp.json` may run commands, so they are not applied.
fn meta(instructions: Option<&str>) -> Value {
    let options = json!({ "settingSources": ["user"], "strictMcpConfig": true });
    let mut meta = json!({ "claudeCode": { "options": options } });
    if let Some(instructions) = instructions {
        meta["systemPrompt"] = json!({ "append": instructions });
    }
    meta
}

fn launch_config(context: &LaunchContext<'_>, config: &mut LaunchConfig) {
    let command = &mut config.command;
    // It reports nothing while it retries: two retries are enough.
    command.env("CLAUDE_CODE_MAX_RETRIES", "2");
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    command.env("DISABLE_AUTOUPDATER", "1");
    if let Some(model) = context.model {
        command.env("ANTHROPIC_MODEL", model);
    }
    if let Some(endpoint) = context.endpoint {
        command.env("ANTHROPIC_BASE_URL", endpoint.url_without_version());
        if !endpoint.has_key {
            command.env("ANTHROPIC_API_KEY", "none");
        }
    }
}
