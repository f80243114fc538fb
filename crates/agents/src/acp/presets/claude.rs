//! Claude Code through `claude-agent-acp`.

use windlass_core::Capabilities;

use super::COMMON;
use crate::acp::preset::{Home, Outfit, Preset, Probe, Shims, Wish};

pub(super) const PRESET: Preset = Preset {
    name: "claude-agent-acp",
    programs: &["claude-agent-acp"],
    args: &[],
    install: "install it with `npm install -g @agentclientprotocol/claude-agent-acp` (Node 22 or later), then run `claude` once to log in",
    probe: Probe::Asked,
    home: Home {
        variable: "CLAUDE_CONFIG_DIR",
        folders: &[".claude"],
        files: &[".claude.json"],
    },
    keys: &["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"],
    endpoint: true,
    capabilities: Capabilities {
        cost: true,
        ..COMMON
    },
    dress,
    shims: Shims {
        model_at_start: true,
        ..Shims::NONE
    },
};

fn dress(wish: &Wish<'_>, outfit: &mut Outfit) {
    let command = &mut outfit.command;
    // It says nothing while it tries again: twice is enough.
    command.env("CLAUDE_CODE_MAX_RETRIES", "2");
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    command.env("DISABLE_AUTOUPDATER", "1");
    if let Some(model) = wish.model {
        command.env("ANTHROPIC_MODEL", model);
    }
    if let Some(endpoint) = wish.endpoint {
        command.env("ANTHROPIC_BASE_URL", endpoint.bare());
        if !endpoint.has_key {
            command.env("ANTHROPIC_API_KEY", "none");
        }
    }
}
