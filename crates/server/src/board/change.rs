//! The change of a task: show, merge and push it.

use std::sync::Arc;

use serde_json::Value;
use windlass_tasks::{AttemptNumber, Proof, Push, Task, TaskId};

use super::{Board, conflict};
use crate::error::ApiError;

impl Board {
    /// Returns the change of an attempt, as git prints it. Without an attempt, it is the change on the task's branch,
    /// or the last one that is kept.
    pub(crate) async fn diff(
        &self,
        id: TaskId,
        attempt: Option<AttemptNumber>,
    ) -> Result<String, ApiError> {
        let task = self.store.task(id).await?;
        Ok(self.host_ops.diff(&task, attempt).await?)
    }

    /// Returns what merging a task's branch would do, and changes nothing.
    pub(crate) async fn preview_merge(&self, id: TaskId) -> Result<Value, ApiError> {
        let task = self.store.task(id).await?;
        Ok(self.host_ops.preview_merge(&task).await?)
    }

    /// Returns the difference between two versions of a task's change, as git prints it.
    pub(crate) async fn version_diff(
        &self,
        id: TaskId,
        from: AttemptNumber,
        to: AttemptNumber,
    ) -> Result<String, ApiError> {
        let task = self.store.task(id).await?;
        Ok(self.host_ops.version_diff(&task, from, to).await?)
    }

    /// Merges a task's branch into the current branch.
    pub(crate) async fn merge(&self, id: TaskId) -> Result<(Task, Value), ApiError> {
        let task = self.store.task(id).await?;
        let (host_ops, by) = (Arc::clone(&self.host_ops), self.author.clone());
        // In its own task, so that a client that leaves or cancels does not interrupt a running merge.
        let merging = tokio::spawn(async move {
            let merged = host_ops.merge(&task, &by).await;
            (task, merged)
        });
        let (task, merged) = merging
            .await
            .map_err(|error| ApiError::internal(error.to_string()))?;
        Ok((task, merged?))
    }

    /// Pushes a task's branch to a remote.
    pub(crate) async fn push(&self, id: TaskId, remote: Option<String>) -> Result<Push, ApiError> {
        let task = self.store.task(id).await?;
        let host_ops = Arc::clone(&self.host_ops);
        // In its own task, as a merge.
        let pushing = tokio::spawn(async move { host_ops.push(&task, remote).await });
        let pushed = pushing.await;
        Ok(pushed.map_err(|error| ApiError::internal(error.to_string()))??)
    }

    /// Returns the proof of a completed task.
    pub(crate) async fn proof(&self, id: TaskId) -> Result<Proof, ApiError> {
        let proof = self.store.proof(id).await?;
        match proof {
            Some(proof) => Ok(proof),
            None => {
                let status = self.store.task(id).await?.status;
                Err(conflict(id, format_args!("has no proof: it is {status}")))
            }
        }
    }
}
