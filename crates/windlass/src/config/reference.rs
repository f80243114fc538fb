//! Generates `docs/configuration.md` from the key table.

use std::fmt::Write;

use super::key_table::{KEYS, KeySpec};
use super::{Trust, env_vars};

/// The text before the keys.
const INTRODUCTION: &str = include_str!("reference.md");

/// Returns the full text of `docs/configuration.md`.
pub fn markdown() -> String {
    let mut text = INTRODUCTION.to_owned();
    for known in KEYS {
        text.push('\n');
        // Writing to a string cannot fail.
        let _ = section(&mut text, known);
    }
    text
}

fn section(text: &mut String, known: &KeySpec) -> std::fmt::Result {
    writeln!(text, "### `{}`\n\n{}\n", known.path, known.about)?;
    writeln!(text, "- Value: {}", known.kind.expected())?;
    if let Some(default) = known.default {
        writeln!(text, "- Default: `{default}`")?;
    }
    let long = env_vars::name_of(known.path);
    match known.variable {
        Some(own) => writeln!(text, "- Variable: `{own}` or `{long}`")?,
        None => writeln!(text, "- Variable: `{long}`")?,
    }
    if !known.aliases.is_empty() {
        writeln!(text, "- Also accepted: {}", spellings(known))?;
    }
    match known.trust {
        Trust::Required => writeln!(text, "- In a project's file: only after `windlass trust`")?,
        Trust::ToRaise => writeln!(
            text,
            "- In a project's file: before `windlass trust`, only to lower the value"
        )?,
    }
    if known.secret {
        writeln!(text, "- Secret: never shown")?;
    }
    Ok(())
}

fn spellings(known: &KeySpec) -> String {
    let quoted: Vec<String> = known
        .aliases
        .iter()
        .map(|path| format!("`{path}`"))
        .collect();
    quoted.join(", ")
}
