//! A new task of the in-memory store.

use std::collections::BTreeMap;

use windlass_core::Usage;
use windlass_tasks::{NewTask, Task, TaskId, TaskStatus};

use super::memory::{Now, Row};

pub(crate) fn new_task(id: TaskId, new: NewTask, dependencies: Vec<TaskId>, now: Now) -> Task {
    Task {
        id,
        project_id: new.project_id,
        issue_id: new.issue_id,
        title: new.title,
        description: new.description,
        status: TaskStatus::Pending,
        priority: new.priority,
        workflow_step: new.workflow_step,
        dependencies,
        kind: new.kind,
        agent: new.agent,
        agent_settings: new.agent_settings,
        needs: new.needs,
        waiting: None,
        idempotency_key: new.idempotency_key,
        attempt: 0,
        max_attempts: new.max_attempts,
        output: None,
        unverified: false,
        needs_review: false,
        review: None,
        tests: new.tests.clone(),
        edits_tests: new.edits_tests,
        fresh: false,
        paused: false,
        target: new.target,
        outdated: false,
        merges: new.merges,
        best_of: new.best_of,
        candidate_of: None,
        land: new.land,
        landed: None,
        branch: None,
        usage: Usage::default(),
        created_at: now.wall,
        updated_at: now.wall,
        completed_at: None,
    }
}

impl Row {
    /// Returns a task without records.
    pub(super) fn new(task: Task) -> Self {
        Self {
            task,
            lease: None,
            cancel: false,
            used: 0,
            intents: BTreeMap::new(),
            ended: None,
            proof: None,
            proofs: BTreeMap::new(),
            completed: Vec::new(),
            sessions: BTreeMap::new(),
            tests: Vec::new(),
            corrections: Vec::new(),
            changes: BTreeMap::new(),
            fresh: 0,
            bases: BTreeMap::new(),
            published: None,
        }
    }
}
