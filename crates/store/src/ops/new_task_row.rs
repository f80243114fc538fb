//! The columns of a new task and their values, for the statements that add tasks.

use serde::Serialize;
use windlass_tasks::{NewTask, StoreResult};

use crate::sql::{Arg, args, json};

/// The columns of a new task. The last two are the times.
macro_rules! new_columns {
    () => {
        "project_id, issue_id, title, description, status, priority, workflow_step, kind, agent, idempotency_key, wish, \
         max_attempts, tests, edits_tests, land, target, merges, agent_settings, labels, waiting, created_at, updated_at"
    };
}
pub(super) use new_columns;

/// A task as JSON. Its fields are the columns, but for the status, the labels, whether it waits, and the times.
#[derive(Serialize)]
pub(super) struct NewTaskRow<'a> {
    project_id: i64,
    issue_id: Option<i64>,
    title: &'a str,
    description: &'a str,
    priority: u8,
    workflow_step: u8,
    kind: &'a str,
    agent: Option<&'a str>,
    idempotency_key: Option<&'a str>,
    /// What was requested, to recognise another task with the same key.
    pub(super) request: Option<String>,
    max_attempts: u32,
    tests: String,
    edits_tests: u8,
    land: u8,
    target: Option<&'a str>,
    merges: u8,
    agent_settings: Option<String>,
}

impl<'a> NewTaskRow<'a> {
    pub(super) fn new(new: &'a NewTask) -> StoreResult<Self> {
        Ok(Self {
            project_id: new.project_id.get(),
            issue_id: new.issue_id.map(|id| id.get()),
            title: &new.title,
            description: &new.description,
            priority: new.priority,
            workflow_step: new.workflow_step,
            kind: new.kind.as_str(),
            agent: new.agent.as_deref(),
            idempotency_key: new.idempotency_key.as_deref(),
            request: match new.idempotency_key {
                Some(_) => Some(json(new)?),
                None => None,
            },
            max_attempts: new.max_attempts,
            tests: json(&new.tests)?,
            edits_tests: new.edits_tests.into(),
            land: new.land.into(),
            target: new.target.as_deref(),
            merges: new.merges.into(),
            agent_settings: new.agent_settings.as_ref().map(json).transpose()?,
        })
    }

    /// Returns the fields as arguments, in their order.
    pub(super) fn args(&self) -> Vec<Arg> {
        args![
            self.project_id,
            self.issue_id,
            self.title,
            self.description,
            self.priority,
            self.workflow_step,
            self.kind,
            self.agent,
            self.idempotency_key,
            self.request.as_deref(),
            self.max_attempts,
            self.tests.as_str(),
            self.edits_tests,
            self.land,
            self.target,
            self.merges,
            self.agent_settings.as_deref(),
        ]
    }
}
