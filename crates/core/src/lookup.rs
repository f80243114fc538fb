//! The errors of looking something up by name.

use std::fmt;

/// An unknown name, with the known names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    kind: &'static str,
    name: String,
    known: Vec<String>,
}

impl UnknownName {
    /// Creates an error for an unknown name of the given kind.
    pub fn new(kind: &'static str, name: &str, known: Vec<&str>) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            known: known.into_iter().map(str::to_owned).collect(),
        }
    }

    /// Returns the known name that was probably meant.
    pub fn suggestion(&self) -> Option<&str> {
        closest(&self.name, self.known.iter().map(String::as_str))
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} {:?}", self.kind, self.name)?;
        if let Some(suggestion) = self.suggestion() {
            write!(f, ", did you mean {suggestion:?}?")?;
        }
        if self.known.is_empty() {
            write!(f, " (none available)")
        } else {
            write!(f, " (available: {})", self.known.join(", "))
        }
    }
}

/// Returns the known name closest to a misspelled one, if any is similar.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(similarity, _)| *similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// The error of a reference that cannot be resolved. Every message starts with the caller's label.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReferenceError {
    /// The text is not a reference.
    #[error("{label}: {reference:?} is not a backend reference: write module:attr or module.attr")]
    Form {
        /// The setting that contains the reference.
        label: String,
        /// The text of the reference.
        reference: String,
    },
    /// The module does not exist.
    #[error("{label}: {unknown}")]
    Module {
        /// The setting that contains the reference.
        label: String,
        /// The requested module and the available ones.
        unknown: UnknownName,
    },
    /// The module has no such attribute.
    #[error("{label}: in module {module}, {unknown}")]
    Attribute {
        /// The setting that contains the reference.
        label: String,
        /// The existing module.
        module: String,
        /// The requested attribute and the available ones.
        unknown: UnknownName,
    },
    /// The attribute is not a backend.
    #[error("{label}: {reference} is {what}, not an agent backend")]
    NotABackend {
        /// The setting that contains the reference.
        label: String,
        /// The text of the reference.
        reference: String,
        /// What the attribute is instead.
        what: String,
    },
    /// The attribute has no `run`.
    #[error("{label}: {reference} is {what}, which has no run(task, working_dir)")]
    NoRun {
        /// The setting that contains the reference.
        label: String,
        /// The text of the reference.
        reference: String,
        /// What the attribute is instead.
        what: String,
    },
}
