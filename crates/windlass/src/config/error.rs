//! What can be wrong with a configuration, each in one sentence: what, where, what next.

use std::path::PathBuf;

use windlass_core::escape_line;

use super::{Key, Origin, suggest};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A configuration that cannot be used. All of them are for a person to mend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder cannot be used.
    #[error("{}: {problem}", display_path(path))]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// A file is not TOML.
    #[error("{at}: not valid TOML: {}", escape_line(message))]
    Syntax {
        /// Where.
        at: Box<Origin>,
        /// What the parser says.
        message: String,
    },
    /// A key that is not in the table.
    #[error("{at}: unknown key `{key}`: {advice}")]
    UnknownKey {
        /// Where.
        at: Box<Origin>,
        /// The key as written.
        key: Key,
        /// The nearest known key, or those that could stand there.
        advice: String,
    },
    /// A value of the wrong kind.
    #[error("{at}: `{key}` is {found}, expected {expected}")]
    WrongValue {
        /// Where.
        at: Box<Origin>,
        /// The key as written.
        key: Key,
        /// What was found; never the text itself, which may be a secret.
        found: String,
        /// What the table asks for.
        expected: String,
    },
    /// A name that cannot be one.
    #[error("{at}: `{key}` cannot name {what}: use {rule}")]
    BadName {
        /// Where.
        at: Box<Origin>,
        /// The key whose last part is the name.
        key: Key,
        /// Whose name it should be.
        what: &'static str,
        /// What a name looks like.
        rule: &'static str,
    },
    /// One layer says the same thing twice, in two spellings.
    #[error("{at}: `{key}` is also set at {first}: keep one of the two")]
    Twice {
        /// One place.
        at: Box<Origin>,
        /// The key in its proper spelling.
        key: Key,
        /// The other place.
        first: Box<Origin>,
    },
    /// A layer holds more settings than anybody would write.
    #[error("{at}: more than {limit} settings: that is no configuration")]
    TooMany {
        /// The first one too many.
        at: Box<Origin>,
        /// How many there may be.
        limit: usize,
    },
    /// No agent has this name.
    #[error("no agent is called `{}`: {}", escape_line(name), known_agents(known))]
    UnknownAgent {
        /// The name that was asked for.
        name: String,
        /// The names there are, nearest first.
        known: Vec<String>,
    },
}

impl Error {
    /// A value of the wrong kind.
    pub(super) fn wrong_value(at: Origin, key: &Key, found: &str, expected: &str) -> Self {
        Self::WrongValue {
            at: Box::new(at),
            key: key.clone(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        }
    }

    /// A key that is not in the table.
    pub(super) fn unknown_key(at: Origin, key: &Key) -> Self {
        Self::UnknownKey {
            at: Box::new(at),
            key: key.clone(),
            advice: suggest::suggestion(key),
        }
    }

    /// A file that cannot be used.
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

fn known_agents(known: &[String]) -> String {
    match known {
        [] => "none is configured; run: windlass init".to_owned(),
        names => format!("there are {}", names.join(", ")),
    }
}
