//! What a person should know about a configuration that can be used all the same.

use std::fmt;
use std::path::PathBuf;

use windlass_core::escape_line;

use super::trust::TrustStatus;
use super::{Error, Origin, SourceFile};

/// How many keys a notice names before it only counts.
const MAX_NAMED_KEYS: usize = 8;

/// One line for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A file inside a repository sets what only a trusted file may.
    Untrusted {
        /// The file.
        file: PathBuf,
        /// The keys and variables that were left out.
        keys: Vec<String>,
        /// Whether an earlier content of the file was trusted.
        changed: bool,
    },
    /// Some lines of a trusted `.env` are no variables.
    IgnoredLine {
        /// The first of them.
        at: Origin,
        /// What is wrong with it.
        problem: &'static str,
        /// How many more there are.
        more: usize,
    },
    /// A `.env` cannot be read.
    Unreadable(Error),
}

impl Notice {
    /// The notice about a file that is not trusted, if anything was left out.
    pub(super) fn untrusted(
        source: &SourceFile,
        standing: TrustStatus,
        keys: Vec<String>,
    ) -> Option<Self> {
        (!keys.is_empty()).then(|| Self::Untrusted {
            file: source.path().to_owned(),
            keys,
            changed: standing == TrustStatus::Changed,
        })
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted {
                file,
                keys,
                changed,
            } => {
                let file = file.to_string_lossy();
                let file = escape_line(&file);
                let state = match changed {
                    true => "has changed since it was trusted",
                    false => "is not trusted",
                };
                let named: Vec<&str> = keys
                    .iter()
                    .take(MAX_NAMED_KEYS)
                    .map(String::as_str)
                    .collect();
                write!(f, "{file} {state}, left out: {}", named.join(", "))?;
                if keys.len() > MAX_NAMED_KEYS {
                    write!(f, " and {} more", keys.len() - MAX_NAMED_KEYS)?;
                }
                f.write_str("; run: windlass trust")
            }
            Self::IgnoredLine { at, problem, more } => {
                write!(f, "{at}: this line is left out: {problem}")?;
                match more {
                    0 => Ok(()),
                    more => write!(f, " (and {more} more)"),
                }
            }
            Self::Unreadable(error) => write!(f, "{error}; it is left out"),
        }
    }
}
