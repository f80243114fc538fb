//! Configuration errors. Each message is one sentence with the location, the problem and what to do.

use std::path::PathBuf;

use windlass_core::escape_line;

use super::{Key, Origin};

/// A result with the error [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A configuration error, to be corrected by the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory cannot be used.
    #[error("{}: {problem}", display_path(path))]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The problem, and what to do.
        problem: String,
    },
    /// A file is not TOML.
    #[error("{at}: not valid TOML: {}", escape_line(message))]
    Syntax {
        /// The location.
        at: Box<Origin>,
        /// The parser's message.
        message: String,
    },
    /// A key that is not in the key table.
    #[error("{at}: unknown key `{key}`: {advice}")]
    UnknownKey {
        /// The location.
        at: Box<Origin>,
        /// The key as written.
        key: Key,
        /// The closest known key, or the keys that are allowed there.
        advice: String,
    },
    /// A value of the wrong type.
    #[error("{at}: `{key}` is {found}, expected {expected}")]
    WrongValue {
        /// The location.
        at: Box<Origin>,
        /// The key as written.
        key: Key,
        /// A description of the value; never the text itself, which may be a secret.
        found: String,
        /// A description of the expected value.
        expected: String,
    },
    /// An invalid name.
    #[error("{at}: `{key}` cannot name {what}: use {rule}")]
    BadName {
        /// The location.
        at: Box<Origin>,
        /// The key that ends with the name.
        key: Key,
        /// What the name is for.
        what: &'static str,
        /// The rule for valid names.
        rule: &'static str,
    },
    /// One layer sets the same key twice, under two names.
    #[error("{at}: `{key}` is also set at {first}: keep one of the two")]
    Twice {
        /// The second location.
        at: Box<Origin>,
        /// The canonical key.
        key: Key,
        /// The first location.
        first: Box<Origin>,
    },
    /// A layer has too many settings.
    #[error("{at}: more than {limit} settings")]
    TooMany {
        /// The location of the first setting beyond the limit.
        at: Box<Origin>,
        /// The maximum number of settings.
        limit: usize,
    },
    /// The agent is unknown.
    #[error("unknown agent `{}`: {}", escape_line(name), known_agents(closest.as_deref(), known))]
    UnknownAgent {
        /// The requested name.
        name: String,
        /// The known name that is most like it, if one is.
        closest: Option<String>,
        /// The known names, sorted.
        known: Vec<String>,
    },
}

impl Error {
    /// Creates the error for a value of the wrong type.
    pub(super) fn wrong_value(at: Origin, key: &Key, found: &str, expected: &str) -> Self {
        Self::WrongValue {
            at: Box::new(at),
            key: key.clone(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        }
    }

    /// Creates the error for a file that cannot be used.
    pub(super) fn file(path: impl Into<PathBuf>, problem: impl std::fmt::Display) -> Self {
        Self::File {
            path: path.into(),
            problem: problem.to_string(),
        }
    }
}

fn display_path(path: &std::path::Path) -> String {
    escape_line(&path.to_string_lossy()).into_owned()
}

fn known_agents(closest: Option<&str>, known: &[String]) -> String {
    let names = known.join(", ");
    match closest {
        _ if known.is_empty() => "none is configured; run: windlass init".to_owned(),
        Some(closest) => format!("known agents: {names} (did you mean `{closest}`?)"),
        None => format!("known agents: {names}"),
    }
}
