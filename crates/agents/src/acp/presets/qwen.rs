//! Qwen Code; its one-shot mode is a profile in [`cli`](crate::cli::qwen).

use super::COMMON;
use crate::acp::preset::{Home, Outfit, Preset, Probe, Shims, UsageIn, Wish};

pub(super) const PRESET: Preset = Preset {
    name: "qwen",
    programs: &["qwen"],
    args: &["--acp"],
    install: "install it with `npm install -g @qwen-code/qwen-code` (Node 22 or later), then run `qwen` once to log in",
    probe: Probe::Flag,
    home: Home {
        variable: "HOME",
        folders: &[".qwen"],
        files: &[],
    },
    keys: &["OPENAI_API_KEY"],
    endpoint: true,
    capabilities: COMMON,
    dress,
    words: &[],
    meta: None,
    shims: Shims {
        free_mode: Some("yolo"),
        asking_mode: Some("default"),
        model_at_start: true,
        usage: UsageIn::Pieces,
        input_holds_cached: true,
        ..Shims::NONE
    },
};

fn dress(wish: &Wish<'_>, outfit: &mut Outfit) {
    let command = &mut outfit.command;
    if let Some(model) = wish.model {
        command.option("model", model);
    }
    if let Some(endpoint) = wish.endpoint {
        command.option("auth-type", "openai");
        command.env("OPENAI_BASE_URL", endpoint.versioned());
        if !endpoint.has_key {
            command.env("OPENAI_API_KEY", "none");
        }
    }
}
