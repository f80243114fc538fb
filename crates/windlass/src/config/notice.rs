//! Notices about a configuration that can be used.

use std::fmt;
use std::path::PathBuf;

use windlass_core::escape_line;

use super::trust_store::TrustStatus;
use super::{Error, Origin, SourceFile};

/// Maximum number of keys that a notice names; further keys are counted.
const MAX_NAMED_KEYS: usize = 8;

/// A notice for the user, shown as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// An untrusted file inside a repository sets keys that need trust.
    Untrusted {
        /// The file.
        file: PathBuf,
        /// The ignored keys and variables.
        keys: Vec<String>,
        /// `true` if an earlier content of the file was trusted.
        changed: bool,
    },
    /// Some lines of a trusted `.env` are invalid.
    IgnoredLine {
        /// The location of the first of them.
        at: Origin,
        /// The problem.
        problem: &'static str,
        /// The number of further invalid lines.
        more: usize,
    },
    /// A `.env` cannot be read.
    Unreadable(Error),
}

impl Notice {
    /// Returns the notice about an untrusted file, if any key is ignored.
    pub(super) fn untrusted(
        source: &SourceFile,
        status: TrustStatus,
        keys: Vec<String>,
    ) -> Option<Self> {
        (!keys.is_empty()).then(|| Self::Untrusted {
            file: source.path().to_owned(),
            keys,
            changed: status == TrustStatus::Changed,
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
                let state = if *changed {
                    "has changed since it was trusted"
                } else {
                    "is not trusted"
                };
                let named: Vec<&str> = keys
                    .iter()
                    .take(MAX_NAMED_KEYS)
                    .map(String::as_str)
                    .collect();
                write!(f, "{file} {state}; ignored keys: {}", named.join(", "))?;
                if keys.len() > MAX_NAMED_KEYS {
                    write!(f, " and {} more", keys.len() - MAX_NAMED_KEYS)?;
                }
                f.write_str("; run: windlass trust")
            }
            Self::IgnoredLine { at, problem, more } => {
                write!(f, "{at}: ignored line: {problem}")?;
                match more {
                    0 => Ok(()),
                    more => write!(f, " (and {more} more)"),
                }
            }
            Self::Unreadable(error) => write!(f, "{error}; the file is ignored"),
        }
    }
}
