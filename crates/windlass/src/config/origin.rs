//! Where a value came from.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use windlass_core::escape_line;

/// A layer of the configuration; a later one lies over an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Layer {
    /// What Windlass does when nobody says otherwise.
    Default,
    /// The user's own `windlass.toml`.
    User,
    /// The project's `windlass.toml`.
    Project,
    /// The file named with `--config`, in place of the project's.
    Explicit,
    /// The project's `.env`.
    DotEnv,
    /// The environment of the process.
    Environment,
    /// The command line.
    Flag,
}

/// The exact place that set a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The layer.
    pub layer: Layer,
    /// The file, where the layer is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in the file, counted from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column in the line, counted in characters from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The variable or the flag, where the layer has such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Origin {
    /// The built-in defaults.
    pub(super) fn built_in() -> Self {
        Self::new(Layer::Default, None)
    }

    /// Somewhere in a file.
    pub(super) fn file(layer: Layer, path: &Path) -> Self {
        let shown = path.to_string_lossy().into_owned();
        Self {
            file: Some(shown),
            ..Self::new(layer, None)
        }
    }

    /// A variable of the environment.
    pub(super) fn variable(name: &str) -> Self {
        Self::new(Layer::Environment, Some(name))
    }

    /// A flag of the command line.
    pub(super) fn flag(name: &str) -> Self {
        Self::new(Layer::Flag, Some(name))
    }

    /// The same file at this line.
    pub(super) fn at_line(&self, line: usize) -> Self {
        Self {
            line: Some(line),
            column: None,
            ..self.clone()
        }
    }

    /// The same file at this place.
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

/// A text with the places where its lines begin, so that a large file is not counted anew for every key.
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

    /// The line and the column of a byte, both counted from one.
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
