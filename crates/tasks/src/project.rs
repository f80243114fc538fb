//! Projects and issues.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use windlass_core::Timestamp;

use crate::id::{IssueId, ProjectId};

/// A repository with tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// The id.
    pub id: ProjectId,
    /// The display name.
    pub name: String,
    /// The root of the work tree, as an absolute path.
    pub root: PathBuf,
    /// When the project was registered.
    pub created_at: Timestamp,
}

/// A project to register. A known root returns the existing project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProject {
    /// The display name.
    pub name: String,
    /// The root of the work tree, as an absolute path.
    pub root: PathBuf,
}

/// A parent issue of several tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// The id.
    pub id: IssueId,
    /// The project of the issue.
    pub project_id: ProjectId,
    /// The title.
    pub title: String,
    /// The full description.
    pub description: String,
    /// When it was added.
    pub created_at: Timestamp,
}

/// An issue to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIssue {
    /// The project of the issue.
    pub project_id: ProjectId,
    /// The title.
    pub title: String,
    /// The full description.
    pub description: String,
}
