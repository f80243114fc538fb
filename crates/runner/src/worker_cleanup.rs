//! What a worker does before its first claim.

use windlass_tasks::{AttemptRef, TaskFilter, TaskStatus};

use crate::attempt::keep_stale_changes;
use crate::{Error, Worker};

/// Page size and maximum number of pages when listing the tasks that still need their clones.
const PAGE_SIZE: u32 = 500;
const MAX_PAGES: u32 = 20;

impl Worker {
    /// Adds the tasks of schedules that are due. Cleans up after a crash: reclaims expired leases, keeps the
    /// changes of ended attempts and removes their clones.
    pub(crate) async fn clean_up(&self) -> Result<(), Error> {
        let store = &self.runner.store;
        store.reclaim_expired().await?;
        self.runner.add_due_tasks(self.project).await;
        let mut live = Vec::new();
        for status in [TaskStatus::InProgress, TaskStatus::Pending] {
            let mut filter = TaskFilter {
                status: Some(status),
                limit: PAGE_SIZE,
                ..TaskFilter::default()
            };
            for _ in 0..MAX_PAGES {
                let page = store.tasks(filter.clone()).await?;
                filter.after = page.last().map(|task| task.id);
                // The running attempt and the next one, which another worker may start during the cleanup.
                live.extend(page.iter().flat_map(|task| {
                    [task.attempt, task.attempt + 1].map(|number| AttemptRef {
                        task: task.id,
                        number,
                    })
                }));
                if filter.after.is_none() {
                    break;
                }
            }
        }
        let workspace = &*self.runner.workspace;
        let is_live = |attempt: AttemptRef| live.contains(&attempt);
        match keep_stale_changes(workspace, &**store, &is_live).await {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "stale clones were removed"),
            Err(error) => tracing::warn!(%error, "stale clones were not removed"),
        }
        Ok(())
    }
}
