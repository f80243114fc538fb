//! Schedules: cron expressions, and the tasks that are due.

mod cron;

use windlass_core::Timestamp;
use windlass_tasks::{DueRun, ProjectId, Schedule, TaskId};

pub use cron::{Cron, CronError, local_time, zone_name};

use crate::{Error, Runner};

impl Runner {
    /// Adds the tasks of the schedules that are due. An error is repeated with the next call.
    pub(crate) async fn add_due_tasks(&self, project: Option<ProjectId>) {
        if let Err(error) = self.run_schedules(project).await {
            tracing::warn!(%error, "the tasks of schedules were not added");
        }
    }

    /// Adds the tasks of the schedules that are due, of one project or of all. Returns their ids.
    ///
    /// Each due time adds one task, however many workers call this. Times that were missed add one task together.
    /// A clock that was set back adds nothing twice: the next due time of a schedule only grows.
    pub async fn run_schedules(&self, project: Option<ProjectId>) -> Result<Vec<TaskId>, Error> {
        let now = self.clock.now();
        let mut added = Vec::new();
        for schedule in self.store.schedules(project).await? {
            if schedule.paused || schedule.next_at > now {
                continue;
            }
            let Some(next) = next_due(&schedule, now) else {
                tracing::warn!(
                    schedule = schedule.id.get(),
                    cron = schedule.cron,
                    zone = schedule.zone,
                    "the schedule cannot be read: remove it"
                );
                continue;
            };
            let run = DueRun {
                schedule: schedule.id,
                due: schedule.next_at,
                next,
            };
            let task = self.store.run_schedule(run).await?;
            added.extend(task.map(|task| task.id));
        }
        Ok(added)
    }
}

/// Returns when a schedule is due after the time `now`.
fn next_due(schedule: &Schedule, now: Timestamp) -> Option<Timestamp> {
    let cron: Cron = schedule.cron.parse().ok()?;
    cron.next(now.max(schedule.next_at), &schedule.zone).ok()
}
