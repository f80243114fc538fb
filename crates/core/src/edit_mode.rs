//! How an agent changes files.

use serde::{Deserialize, Serialize};

/// How an agent changes files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditMode {
    /// With its tools. If it changes nothing, it must call a tool; if it still changes nothing, it returns complete
    /// files.
    #[default]
    Auto,
    /// With its tools only.
    Tools,
    /// It returns complete files, which the caller writes.
    WholeFiles,
}

impl EditMode {
    /// Returns the name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Tools => "tools",
            Self::WholeFiles => "whole_files",
        }
    }
}
