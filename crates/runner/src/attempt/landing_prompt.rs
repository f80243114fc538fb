//! The part of a prompt about a change that did not land.

use std::fmt::Write as _;

use windlass_tasks::Landing;

use crate::template::{render, truncate_end};

/// Maximum size of the reason in a prompt.
const MAX_REASON_BYTES: usize = 16 << 10;
/// Maximum number of failing tests in a prompt.
const MAX_CASES: usize = 20;

/// Says why the earlier change did not land, and whether the files have it.
pub(super) fn not_landed_section(landing: &Landing, has_change: bool) -> String {
    let state = if has_change {
        "The files already have that change, uncommitted, on top of the current branch."
    } else {
        "That change could not be applied to the current branch, so the files do not have it: make it again."
    };
    let mut cases = String::new();
    for case in landing.cases.iter().take(MAX_CASES) {
        let _ = writeln!(cases, "- {case}");
    }
    let reason = landing.reason.as_deref().unwrap_or_default();
    render(
        include_str!("../prompts/not-landed.md"),
        &[
            ("target", &landing.target),
            ("state", state),
            ("reason", &truncate_end(reason, MAX_REASON_BYTES)),
            ("cases", &cases),
        ],
    )
}
