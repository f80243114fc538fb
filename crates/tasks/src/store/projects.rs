//! Projects and issues.

use std::fmt;

use super::error::StoreFuture;
use crate::id::{IssueId, ProjectId};
use crate::project::{Issue, NewIssue, NewProject, Project};

/// Stores projects and their issues.
pub trait Projects: fmt::Debug + Send + Sync {
    /// Returns the id of this store: eight hexadecimal digits that are chosen at random when the store is created
    /// and never change. Names of branches and refs contain it, because several stores can have tasks for one
    /// repository.
    fn store_id(&self) -> StoreFuture<'_, String>;
    /// Registers a project. A known root returns the existing project.
    fn add_project(&self, project: NewProject) -> StoreFuture<'_, Project>;
    /// Returns a project.
    fn project(&self, id: ProjectId) -> StoreFuture<'_, Project>;
    /// Returns all projects.
    fn projects(&self) -> StoreFuture<'_, Vec<Project>>;
    /// Adds a parent issue.
    fn add_issue(&self, issue: NewIssue) -> StoreFuture<'_, Issue>;
    /// Returns an issue.
    fn issue(&self, id: IssueId) -> StoreFuture<'_, Issue>;
}
