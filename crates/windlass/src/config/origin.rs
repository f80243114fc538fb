//! The origin of a value.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use windlass_core::escape_line;

/// A layer of the configuration; a later layer overrides an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Layer {
    /// The built-in defaults.
    Default,
    /// The user's own `windlass.toml`.
    User,
    /// The project's `windlass.toml`.
    Project,
    /// The file given with `--config`, instead of the project's.
    Explicit,
    /// The project's `.env`.
    DotEnv,
    /// The environment of the process.
    Environment,
    /// The command line.
    Flag,
}

/// The exact location that set a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The layer.
    pub layer: Layer,
    /// The file, if the layer is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in the file, counted from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column in the line, counted in characters from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The variable or the flag, if the layer has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Origin {
    /// Returns the origin of built-in defaults.
    pub(super) fn built_in() -> Self {
        Self::new(Layer::Default, None)
    }

    /// Returns the origin for a file, without a line.
    pub(super) fn file(layer: Layer, path: &Path) -> Self {
        let shown = path.to_string_lossy().into_owned();
        Self {
            file: Some(shown),
            ..Self::new(layer, None)
        }
    }

    /// Returns the origin for an environment variable.
    pub(super) fn variable(name: &str) -> Self {
        Self::new(Layer::Environment, Some(name))
    }

    /// Returns the origin for a command-line flag.
    pub(super) fn flag(name: &str) -> Self {
        Self::new(Layer::Flag, Some(name))
    }

    /// Returns the origin at this line of the same file.
    pub(super) fn at_line(&self, line: usize) -> Self {
        Self {
            line: Some(line),
            column: None,
            ..self.clone()
        }
    }

    /// Returns the origin at this line and column of the same file.
    pub(super) fn at(&self, (line, column): (usize, usize)) -> Self {
        Self {
            line: Some(line),
            column: Some(column),
            ..self.clone()
        }
    }

    fn new(layer: Layer, name: Option<&str>) -> Self {
        Self {
            layer,
            file: None,
            line: None,
            column: None,
            name: name.map(str::to_owned),
        }
    }
}

/// A text with the start offsets of its lines, so that lines are not counted again for every key.
pub(super) struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(starts).collect(),
        }
    }

    /// Returns the line and the column of a byte offset, both counted from one.
    pub(super) fn line_column(&self, byte: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= byte);
        let start = self.starts.get(line.saturating_sub(1)).copied();
        let before = self.text.get(start.unwrap_or(0)..byte).unwrap_or("");
        (line, before.chars().count() + 1)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            f.write_str(&escape_line(file))?;
            for number in [self.line, self.column].into_iter().flatten() {
                write!(f, ":{number}")?;
            }
            return Ok(());
        }
        match (self.layer, &self.name) {
            (Layer::Environment, Some(name)) => write!(f, "environment {}", escape_line(name)),
            (_, Some(name)) => f.write_str(&escape_line(name)),
            _ => f.write_str("default"),
        }
    }
}
