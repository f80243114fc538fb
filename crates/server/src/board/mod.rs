//! The operations on tasks that the HTTP API and the MCP server share.
//!
//! A [`Board`] is what one caller can see and change. It checks the input of every operation; the scope of the
//! caller is checked before, by the route or the tool.

mod agent_list;
mod answers;
mod change;
mod new_task;
mod reviews;
mod steering;
mod task_list;
mod wait;

use std::sync::Arc;

use windlass_tasks::{ProjectId, TaskId};

use crate::access::VisibleStore;
use crate::error::ApiError;
use crate::host_ops::{AskAnswer, AskRequest, HostOps};

pub(crate) use agent_list::AgentList;
pub(crate) use new_task::{KindName, NewTaskBody};
pub(crate) use reviews::{DecisionName, NewCommentBody, NewReviewBody, SideName};
pub(crate) use steering::{BulkBody, EditBody};
pub(crate) use task_list::TaskSelection;
pub(crate) use wait::WaitOutcome;

/// The tasks of one caller.
#[derive(Debug, Clone)]
pub(crate) struct Board {
    pub(crate) store: VisibleStore,
    host_ops: Arc<dyn HostOps>,
    agents: Arc<AgentList>,
    /// The default project of new tasks.
    project: Option<ProjectId>,
    /// The name of the caller, for what it reviews, lands and merges.
    author: String,
}

impl Board {
    pub(crate) fn new(
        store: VisibleStore,
        host_ops: Arc<dyn HostOps>,
        agents: Arc<AgentList>,
        project: Option<ProjectId>,
        author: String,
    ) -> Self {
        Self {
            store,
            host_ops,
            agents,
            project,
            author,
        }
    }

    /// Returns the default project, if the caller can see it.
    pub(crate) async fn default_project(&self) -> Result<Option<ProjectId>, ApiError> {
        let projects = self.store.projects().await?;
        let is_visible = |id: &ProjectId| projects.iter().any(|project| project.id == *id);
        Ok(self.project.filter(is_visible))
    }

    /// Sends a prompt to an agent that can read the files of the default project, and change nothing.
    pub(crate) async fn ask(&self, ask: AskRequest) -> Result<AskAnswer, ApiError> {
        if ask.prompt.trim().is_empty() {
            return Err(ApiError::bad_request("the prompt must not be empty"));
        }
        let Some(id) = self.project else {
            return Err(ApiError::bad_request(
                "no project: this server has no repository",
            ));
        };
        let projects = self.store.projects().await?;
        let project = projects.into_iter().find(|project| project.id == id);
        let Some(project) = project else {
            let message = "the agent would read a project that this token cannot see";
            return Err(ApiError::bad_request(message));
        };
        Ok(self.host_ops.ask(&project.root, ask).await?)
    }
}

/// Returns the error for a task without something.
fn conflict(id: TaskId, why: impl std::fmt::Display) -> ApiError {
    ApiError::conflict(format!("task {id} {why}"))
}
