//! Projects and issues.

use std::fmt;
use std::path::PathBuf;

use super::error::StoreFuture;
use crate::id::{IssueId, ProjectId};
use crate::project::{Issue, NewIssue, NewProject, Project, ProjectCheckout, ProjectIdentity};

/// Stores projects and their issues.
pub trait Projects: fmt::Debug + Send + Sync {
    /// Returns the id of this store: eight hexadecimal digits that are chosen at random when the store is created
    /// and never change. Names of branches and refs contain it, because several stores can have tasks for one
    /// repository.
    fn store_id(&self) -> StoreFuture<'_, String>;
    /// Registers a project that has a checkout on this machine. A root that is known here returns the existing project.
    fn add_project(&self, project: NewProject) -> StoreFuture<'_, Project>;
    /// Registers a project without a checkout on this machine. It needs a remote. The same name, root commit and remote
    /// return the existing project.
    fn add_remote_project(&self, identity: ProjectIdentity) -> StoreFuture<'_, Project>;
    /// Changes what identifies a project.
    fn identify_project(
        &self,
        id: ProjectId,
        identity: ProjectIdentity,
    ) -> StoreFuture<'_, Project>;
    /// Sets where this machine has the files of a project, or that it has none.
    fn set_checkout(&self, id: ProjectId, root: Option<PathBuf>) -> StoreFuture<'_, Project>;
    /// Returns where machines have the files of a project.
    fn checkouts(&self, id: ProjectId) -> StoreFuture<'_, Vec<ProjectCheckout>>;
    /// Removes a project that has no tasks, with its note and its schedules.
    fn remove_project(&self, id: ProjectId) -> StoreFuture<'_, ()>;
    /// Returns a project.
    fn project(&self, id: ProjectId) -> StoreFuture<'_, Project>;
    /// Returns all projects.
    fn projects(&self) -> StoreFuture<'_, Vec<Project>>;
    /// Adds a parent issue.
    fn add_issue(&self, issue: NewIssue) -> StoreFuture<'_, Issue>;
    /// Returns an issue.
    fn issue(&self, id: IssueId) -> StoreFuture<'_, Issue>;
}
