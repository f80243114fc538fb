//! Projects and issues.

use windlass_tasks::{
    Issue, IssueId, NewIssue, NewProject, Project, ProjectId, Projects, StoreFuture,
};

use super::write::{durable, operation, ready_error};
use crate::ops::projects;
use crate::store::SqlStore;
use crate::write_job::stages;

impl Projects for SqlStore {
    fn store_id(&self) -> StoreFuture<'_, String> {
        self.read("reading the id of the store", |db| {
            Box::pin(projects::store_id(db))
        })
    }

    fn add_project(&self, project: NewProject) -> StoreFuture<'_, Project> {
        if let Err(error) = projects::check(&project) {
            return ready_error(error);
        }
        let options = durable(stages!("adding a project"));
        self.write(
            options,
            operation!(|db, project| projects::add_project(db, &project)),
        )
    }

    fn project(&self, id: ProjectId) -> StoreFuture<'_, Project> {
        self.read("reading a project", move |db| {
            Box::pin(projects::get_project(db, id))
        })
    }

    fn projects(&self) -> StoreFuture<'_, Vec<Project>> {
        self.read("listing the projects", |db| {
            Box::pin(projects::projects(db))
        })
    }

    fn add_issue(&self, issue: NewIssue) -> StoreFuture<'_, Issue> {
        let options = durable(stages!("adding an issue"));
        self.write(
            options,
            operation!(|db, issue| projects::add_issue(db, &issue)),
        )
    }

    fn issue(&self, id: IssueId) -> StoreFuture<'_, Issue> {
        self.read("reading an issue", move |db| {
            Box::pin(projects::get_issue(db, id))
        })
    }
}
