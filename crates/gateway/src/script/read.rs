//! A script from its file, and what is wrong with it if it cannot be played.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Fault, Script, ScriptPart};

/// The largest script that is read.
pub const SCRIPT_BYTES: u64 = 16 << 20;

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is larger than anyone writes.
    #[error("{}: larger than {SCRIPT_BYTES} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is not a script.
    #[error("{origin}:{line}:{column}: {problem}")]
    Malformed {
        /// Where it was read from.
        origin: String,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// The key and what is wrong with it.
        problem: String,
    },
    /// It can be read, but it asks for something that makes no sense.
    #[error("{origin}: {key}: {problem}")]
    Invalid {
        /// Where it was read from.
        origin: String,
        /// Where in the script.
        key: String,
        /// What is wrong and what to do.
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

    /// Reads a script from its text; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ScriptError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let script: Self = serde_path_to_error::deserialize(&mut json)
            .map_err(|error| malformed(origin, &error))?;
        json.end().map_err(|error| ScriptError::Malformed {
            origin: origin.to_owned(),
            line: error.line(),
            column: error.column(),
            problem: "more after the end of the script".to_owned(),
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

    /// The first thing that makes no sense, under its key.
    fn problem(&self) -> Option<(String, &'static str)> {
        if self.turns.is_empty() {
            return Some(("turns".to_owned(), "empty: write at least one turn"));
        }
        self.turns.iter().enumerate().find_map(|(place, turn)| {
            let key = |rest: &str| format!("turns[{place}]{rest}");
            let silent = !turn.answer.iter().any(|part| !matches!(part, ScriptPart::Wait(_)));
            match &turn.fault {
                None if silent => Some((key(".answer"), "says nothing: add a part or a fault")),
                Some(fault) if !silent && !fault.comes_after_parts() => Some((
                    key(".fault"),
                    "comes instead of an answer: remove the answer, or use hang_mid_stream, cut or malformed",
                )),
                Some(Fault::Status(refusal)) if !(400..=599).contains(&refusal.code) => {
                    Some((key(".fault.status.code"), "not a status from 400 to 599"))
                }
                _ if turn.times == 0 => Some((key(".times"), "0: remove the turn, or write at least 1")),
                _ => None,
            }
        })
    }
}

fn malformed(origin: &str, error: &serde_path_to_error::Error<serde_json::Error>) -> ScriptError {
    let path = error.path().to_string();
    // Where the text itself is broken, the last step of the way is not known.
    let key = path.trim_end_matches(['.', '?']);
    let inner = error.inner();
    let text = inner.to_string();
    // The place is said in front; serde_json says it again at the end.
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
