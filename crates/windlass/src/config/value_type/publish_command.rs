//! The command that opens a pull request.

use serde_json::Value;

use super::{CommandWords, ValueKind, ValueType};

/// A program and its arguments, or the name of a preset.
pub(in crate::config) struct PublishCommand;

/// The commands of known programs. An option and its value are one argument, so that no title is taken for an option.
const PRESETS: &[(&str, &[&str])] = &[
    (
        "gh",
        &[
            "gh",
            "pr",
            "create",
            "--head={branch}",
            "--base={base}",
            "--title={title}",
            "--body-file={body_file}",
        ],
    ),
    (
        "glab",
        &[
            "glab",
            "mr",
            "create",
            "--source-branch={branch}",
            "--target-branch={base}",
            "--title={title}",
            "--description={body}",
            "--yes",
        ],
    ),
];

impl ValueType for PublishCommand {
    type Value = Vec<String>;
    const KIND: ValueKind = ValueKind::ListOr(&["gh", "glab"]);

    fn read(value: &Value) -> Option<Vec<String>> {
        let preset = PRESETS.iter().find(|(name, _)| value == name);
        match preset {
            Some((_, words)) => Some(words.iter().map(|word| (*word).to_owned()).collect()),
            None => CommandWords::read(value),
        }
    }

    fn write(value: &Vec<String>) -> Value {
        CommandWords::write(value)
    }
}
