//! Schedules: tasks that are added repeatedly.

use serde::{Deserialize, Serialize};
use windlass_core::Timestamp;

use crate::id::{ProjectId, ScheduleId, TaskId};
use crate::task::NewTask;

/// The maximum number of schedules in a store.
pub const MAX_SCHEDULES: usize = 1_000;

/// A schedule to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSchedule {
    /// The cron expression. A store does not interpret it.
    pub cron: String,
    /// The name of the time zone that the expression is in.
    pub zone: String,
    /// The task to add whenever it is due.
    pub task: NewTask,
    /// When it is due first.
    pub next_at: Timestamp,
}

/// A stored schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// The id.
    pub id: ScheduleId,
    /// The project of its tasks.
    pub project_id: ProjectId,
    /// The cron expression.
    pub cron: String,
    /// The name of the time zone that the expression is in.
    pub zone: String,
    /// The task to add whenever it is due.
    pub task: NewTask,
    /// It adds no task until it is resumed.
    pub paused: bool,
    /// When it is due.
    pub next_at: Timestamp,
    /// The last due time for which it added a task.
    pub last_at: Option<Timestamp>,
    /// The task that it added last.
    pub last_task: Option<TaskId>,
    /// When it was added.
    pub created_at: Timestamp,
}

/// A due time of a schedule, which adds one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueRun {
    /// The schedule.
    pub schedule: ScheduleId,
    /// [`Schedule::next_at`] as it was read. Nothing is added if it has changed since.
    pub due: Timestamp,
    /// When the schedule is due next. It must be later.
    pub next: Timestamp,
}
