//! Reading of scripts, and their validation.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Fault, Script, ScriptPart};

/// The maximum size of a script.
pub const SCRIPT_BYTES: u64 = 16 << 20;

/// Error when a script cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The file is larger than the limit.
    #[error("{}: larger than {SCRIPT_BYTES} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The text is not a script.
    #[error("{origin}:{line}:{column}: {problem}")]
    Malformed {
        /// The origin of the text.
        origin: String,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// The key and its error.
        problem: String,
    },
    /// The script can be parsed but is invalid.
    #[error("{origin}: {key}: {problem}")]
    Invalid {
        /// The origin of the text.
        origin: String,
        /// The key in the script.
        key: String,
        /// The problem and how to solve it.
        problem: &'static str,
    },
}

impl Script {
    /// Reads a script from a file.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let unreadable = |source| ScriptError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let mut text = String::new();
        let read = file.take(SCRIPT_BYTES + 1).read_to_string(&mut text);
        if read.map_err(unreadable)? as u64 > SCRIPT_BYTES {
            let path = path.to_owned();
            return Err(ScriptError::TooLarge { path });
        }
        Self::parse(&text, &path.display().to_string())
    }

    /// Parses a script from its text; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ScriptError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let script: Self = serde_path_to_error::deserialize(&mut json)
            .map_err(|error| malformed(origin, &error))?;
        json.end().map_err(|error| ScriptError::Malformed {
            origin: origin.to_owned(),
            line: error.line(),
            column: error.column(),
            problem: "trailing data after the end of the script".to_owned(),
        })?;
        match script.problem() {
            None => Ok(script),
            Some((key, problem)) => Err(ScriptError::Invalid {
                origin: origin.to_owned(),
                key,
                problem,
            }),
        }
    }

    /// Returns the first invalid key with its problem.
    fn problem(&self) -> Option<(String, &'static str)> {
        if self.turns.is_empty() {
            return Some(("turns".to_owned(), "empty: write at least one turn"));
        }
        self.turns.iter().enumerate().find_map(|(index, turn)| {
            let key = |rest: &str| format!("turns[{index}]{rest}");
            let empty = !turn.answer.iter().any(|part| !matches!(part, ScriptPart::Wait(_)));
            match &turn.fault {
                None if empty => Some((key(".answer"), "has neither parts nor a fault: add one")),
                Some(fault) if !empty && !fault.comes_after_parts() => Some((
                    key(".fault"),
                    "replaces the answer: remove the answer, or use hang_mid_stream, cut or malformed",
                )),
                Some(Fault::Status(status)) if !(400..=599).contains(&status.code) => {
                    Some((key(".fault.status.code"), "not a status from 400 to 599"))
                }
                _ if turn.times == 0 => Some((key(".times"), "must be at least 1: raise it, or remove the turn")),
                _ => None,
            }
        })
    }
}

fn malformed(origin: &str, error: &serde_path_to_error::Error<serde_json::Error>) -> ScriptError {
    let path = error.path().to_string();
    // If the JSON itself is malformed, the last step of the path is unknown.
    let key = path.trim_end_matches(['.', '?']);
    let inner = error.inner();
    let text = inner.to_string();
    // The position is already at the start of the error; serde_json repeats it at the end.
    let text = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(text, _)| text);
    ScriptError::Malformed {
        origin: origin.to_owned(),
        line: inner.line(),
        column: inner.column(),
        problem: if key.is_empty() {
            text.to_owned()
        } else {
            format!("{key}: {text}")
        },
    }
}
