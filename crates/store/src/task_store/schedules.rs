//! Schedules.

use windlass_core::Timestamp;
use windlass_tasks::{
    DueRun, NewSchedule, ProjectId, Schedule, ScheduleId, Schedules, StoreFuture, Task,
};

use super::write::{durable, operation, ready_error};
use crate::ops::schedules;
use crate::store::SqlStore;
use crate::write_job::stages;

impl Schedules for SqlStore {
    fn add_schedule(&self, schedule: NewSchedule) -> StoreFuture<'_, Schedule> {
        if let Err(error) = schedules::check(&schedule) {
            return ready_error(error);
        }
        let options = durable(stages!("adding a schedule"));
        self.write(
            options,
            operation!(|db, schedule| schedules::add(db, &schedule)),
        )
    }

    fn schedules(&self, project: Option<ProjectId>) -> StoreFuture<'_, Vec<Schedule>> {
        self.read("listing the schedules", move |db| {
            Box::pin(schedules::list(db, project))
        })
    }

    fn pause_schedule(&self, id: ScheduleId) -> StoreFuture<'_, Schedule> {
        let options = durable(stages!("pausing a schedule"));
        self.write(options, move |db| Box::pin(schedules::pause(db, id, None)))
    }

    fn resume_schedule(&self, id: ScheduleId, next: Timestamp) -> StoreFuture<'_, Schedule> {
        let options = durable(stages!("resuming a schedule"));
        self.write(options, move |db| {
            Box::pin(schedules::pause(db, id, Some(next)))
        })
    }

    fn remove_schedule(&self, id: ScheduleId) -> StoreFuture<'_, Schedule> {
        let options = durable(stages!("removing a schedule"));
        self.write(options, move |db| Box::pin(schedules::remove(db, id)))
    }

    fn run_schedule(&self, run: DueRun) -> StoreFuture<'_, Option<Task>> {
        let options = durable(stages!("adding the task of a schedule"));
        self.write(options, move |db| Box::pin(schedules::run(db, run)))
    }
}
