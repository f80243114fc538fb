//! Projects and issues.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::Timestamp;

use crate::id::{IssueId, ProjectId};

/// A repository with tasks. It is known by its name and its root commit, on every machine that shares the store; where
/// its files are differs from machine to machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// The id.
    pub id: ProjectId,
    /// The display name.
    pub name: String,
    /// The root of the work tree on this machine, as an absolute path. On a machine without a checkout, it is the mirror
    /// of the remote; without a remote, the path on another machine.
    pub root: PathBuf,
    /// Whether this machine has a checkout, at `root`.
    pub here: bool,
    /// The oldest root commit of its history. `None` until it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_commit: Option<String>,
    /// The address of the repository through which machines exchange commits. It has no password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// When the project was registered.
    pub created_at: Timestamp,
}

impl Project {
    /// Creates a project with a checkout on this machine.
    pub fn new(id: ProjectId, name: impl Into<String>, root: PathBuf, at: Timestamp) -> Self {
        Self {
            id,
            name: name.into(),
            root,
            here: true,
            root_commit: None,
            remote: None,
            created_at: at,
        }
    }

    /// Returns the directory of the mirror in a directory for mirrors. Its last part is the name of the project if that is
    /// a plain one, because some tools take the name of a directory as the name of the project.
    pub fn mirror_in(&self, mirrors: &Path) -> PathBuf {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let is_plain = !self.name.is_empty() && self.name.len() <= 100;
        let is_plain = is_plain && !self.name.starts_with('-') && self.name.chars().all(plain);
        let name = if is_plain { &self.name } else { "mirror" };
        mirrors.join(self.id.to_string()).join(name)
    }
}

/// A project to register. A root that is known on this machine returns the existing project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProject {
    /// The display name.
    pub name: String,
    /// The root of the work tree, as an absolute path.
    pub root: PathBuf,
}

/// What identifies a project on every machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectIdentity {
    /// The display name.
    pub name: String,
    /// The oldest root commit of its history, if it is known.
    pub root_commit: Option<String>,
    /// The address of the repository through which machines exchange commits, if there is one.
    pub remote: Option<String>,
}

/// Where a machine has the files of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectCheckout {
    /// The machine. Empty if the store was used before machines had names.
    pub machine: String,
    /// The root of the work tree there.
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
