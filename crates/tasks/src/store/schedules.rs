//! Schedules.

use std::fmt;

use windlass_core::Timestamp;

use super::error::StoreFuture;
use crate::id::{ProjectId, ScheduleId};
use crate::schedule::{DueRun, NewSchedule, Schedule};
use crate::task::Task;

/// Stores schedules. Workers add their tasks, each due time once.
pub trait Schedules: fmt::Debug + Send + Sync {
    /// Adds a schedule.
    fn add_schedule(&self, schedule: NewSchedule) -> StoreFuture<'_, Schedule>;
    /// Returns the schedules of one project or of all, ordered by id.
    fn schedules(&self, project: Option<ProjectId>) -> StoreFuture<'_, Vec<Schedule>>;
    /// Pauses a schedule. Pausing again has no effect.
    fn pause_schedule(&self, id: ScheduleId) -> StoreFuture<'_, Schedule>;
    /// Ends the pause of a schedule, which is due next at `next`.
    fn resume_schedule(&self, id: ScheduleId, next: Timestamp) -> StoreFuture<'_, Schedule>;
    /// Removes a schedule. The tasks that it added stay.
    fn remove_schedule(&self, id: ScheduleId) -> StoreFuture<'_, Schedule>;
    /// Adds the task of a schedule for one due time, unless another worker did, the schedule is paused or
    /// removed, or its last task still waits for its first attempt. Returns the added task.
    fn run_schedule(&self, run: DueRun) -> StoreFuture<'_, Option<Task>>;
}
