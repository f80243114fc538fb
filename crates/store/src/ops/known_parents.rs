//! Remembers which projects and issues exist.

use std::collections::HashSet;

use parking_lot::Mutex;
use windlass_tasks::{Enqueued, IssueId, NewTask, ProjectId};

/// Projects and issues that are known to exist. They are never deleted, so one check is enough.
#[derive(Debug, Default)]
pub(crate) struct KnownParents(Mutex<HashSet<(ProjectId, Option<IssueId>)>>);

impl KnownParents {
    /// Maximum number of entries; the set is cleared when it exceeds this.
    const MAX_KNOWN: usize = 10_000;

    /// Returns `true` if the projects and issues of all these tasks are known to exist.
    pub(crate) fn contains_all(&self, tasks: &[NewTask]) -> bool {
        let known = self.0.lock();
        tasks
            .iter()
            .all(|new| known.contains(&(new.project_id, new.issue_id)))
    }

    /// Adds the projects and issues of stored tasks.
    pub(crate) fn insert(&self, added: &[Enqueued]) {
        let mut known = self.0.lock();
        if known.len() > Self::MAX_KNOWN {
            known.clear();
        }
        known.extend(
            added
                .iter()
                .map(|added| (added.task.project_id, added.task.issue_id)),
        );
    }
}
