//! Claude Code through `claude-agent-acp`.

use serde_json::{Value, json};
use windlass_core::Capabilities;

use super::COMMON_CAPABILITIES;
use crate::acp::preset::{LaunchConfig, LaunchContext, Preset, Quirks};
use crate::program::known;

pub(super) const PRESET: Preset = Preset {
    program: &known::claude::ACP_PROGRAM,
    args: &[],
    capabilities: Capabilities {
        cost: true,
        ..COMMON_CAPABILITIES
    },
    launch_config,
    meta: Some(meta),
    quirks: Quirks {
        model_is_launch_arg: true,
        error_prefixes: &["API Error: ", "Failed to authenticate. API Error: "],
        ..Quirks::NONE
    },
};

/// A repository's `.claude` and `.mcp.json` may run commands, so they are not applied. A suggestion of the next prompt
/// costs a model request after each turn, and is not used.
fn meta(instructions: Option<&str>) -> Value {
    let options = json!({
        "settingSources": ["user"],
        "strictMcpConfig": true,
        "promptSuggestions": false,
    });
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
    if let Some(model) = context.model {
        command.env("ANTHROPIC_MODEL", model);
    }
}
