//! Aliases: model names of clients and the agents behind them.

use std::path::{Path, PathBuf};

use super::{AliasSettings, FolderAccess, ToolCalls};

/// A row of `model_list`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Alias {
    /// The agent that answers.
    pub agent: String,
    /// The model that the agent uses.
    pub model: Option<String>,
    /// The agent's working directory.
    pub folder: Option<PathBuf>,
    /// `true` if the agent may change files there.
    pub may_write: bool,
    /// `true` if an agent that accepts only text gets the tools of a request in its prompt.
    pub transcript_tools: bool,
}

impl Alias {
    /// Creates an alias; a relative directory is relative to the project. An alias without an agent is ignored.
    pub(super) fn new(settings: AliasSettings, project: &Path) -> Option<Self> {
        Some(Self {
            agent: settings.agent?,
            model: settings.model,
            folder: settings.folder.map(|folder| project.join(folder)),
            may_write: settings.permissions == Some(FolderAccess::Allow),
            transcript_tools: settings.tool_calls == Some(ToolCalls::Transcript),
        })
    }
}
