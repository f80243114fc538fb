//! Projects and issues.

use std::path::PathBuf;

use windlass_tasks::{
    Issue, IssueId, NewIssue, NewProject, Project, ProjectCheckout, ProjectId, ProjectIdentity,
    Projects, StoreFuture,
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
        let args = (self.machine().clone(), project);
        self.write(
            options,
            operation!(|db, args| projects::add_project(db, &args.0, &args.1)),
        )
    }

    fn add_remote_project(&self, identity: ProjectIdentity) -> StoreFuture<'_, Project> {
        if let Err(error) = projects::check_identity(&identity) {
            return ready_error(error);
        }
        let options = durable(stages!("adding a project"));
        let args = (self.machine().clone(), identity);
        self.write(
            options,
            operation!(|db, args| projects::add_remote_project(db, &args.0, &args.1)),
        )
    }

    fn identify_project(
        &self,
        id: ProjectId,
        identity: ProjectIdentity,
    ) -> StoreFuture<'_, Project> {
        if let Err(error) = projects::check_identity(&identity) {
            return ready_error(error);
        }
        let options = durable(stages!("changing a project"));
        let args = (self.machine().clone(), identity);
        self.write(
            options,
            operation!(|db, args| projects::identify_project(db, &args.0, id, &args.1)),
        )
    }

    fn set_checkout(&self, id: ProjectId, root: Option<PathBuf>) -> StoreFuture<'_, Project> {
        if let Some(Err(error)) = root.as_deref().map(projects::check_root) {
            return ready_error(error);
        }
        let options = durable(stages!("mapping a project"));
        let args = (self.machine().clone(), root);
        self.write(
            options,
            operation!(|db, args| projects::set_checkout(db, &args.0, id, args.1.as_deref())),
        )
    }

    fn checkouts(&self, id: ProjectId) -> StoreFuture<'_, Vec<ProjectCheckout>> {
        self.read("listing the checkouts of a project", move |db| {
            Box::pin(projects::checkouts(db, id))
        })
    }

    fn remove_project(&self, id: ProjectId) -> StoreFuture<'_, ()> {
        let options = durable(stages!("removing a project"));
        let machine = self.machine().clone();
        self.write(
            options,
            operation!(|db, machine| projects::remove_project(db, &machine, id)),
        )
    }

    fn project(&self, id: ProjectId) -> StoreFuture<'_, Project> {
        let machine = self.machine().clone();
        self.read("reading a project", move |db| {
            Box::pin(async move { projects::get_project(db, &machine, id).await })
        })
    }

    fn projects(&self) -> StoreFuture<'_, Vec<Project>> {
        let machine = self.machine().clone();
        self.read("listing the projects", move |db| {
            Box::pin(async move { projects::projects(db, &machine).await })
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
