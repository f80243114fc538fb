//! Schedules, messages and take-over of the in-memory store.

use windlass_core::Timestamp;
use windlass_tasks::{
    AgentMessage, AttemptRef, Claim, Claimed, DueRun, MessageId, NewSchedule, NewTask, ProjectId,
    Schedule, ScheduleId, Schedules, StoreError, StoreFuture, StoreResult, TakeOver, Task, TaskId,
    TaskStatus,
};

use super::memory::{Memory, next_id};
use super::store::{SimStore, find};

fn schedule(memory: &mut Memory, id: ScheduleId) -> StoreResult<&mut Schedule> {
    let found = memory.schedules.iter_mut().find(|found| found.id == id);
    found.ok_or_else(|| StoreError::not_found("schedule", id))
}

impl Schedules for SimStore {
    fn add_schedule(&self, new: NewSchedule) -> StoreFuture<'_, Schedule> {
        self.call(move |memory, now| {
            let schedule = Schedule {
                id: next_id(memory.schedules.len()),
                project_id: new.task.project_id,
                cron: new.cron,
                zone: new.zone,
                task: new.task,
                paused: false,
                next_at: new.next_at,
                last_at: None,
                last_task: None,
                created_at: now.wall,
            };
            memory.schedules.push(schedule.clone());
            Ok(schedule)
        })
    }

    fn schedules(&self, project: Option<ProjectId>) -> StoreFuture<'_, Vec<Schedule>> {
        self.call(move |memory, _| {
            let all = memory.schedules.iter();
            let is_wanted = |found: &&Schedule| project.is_none_or(|id| id == found.project_id);
            Ok(all.filter(is_wanted).cloned().collect())
        })
    }

    fn pause_schedule(&self, id: ScheduleId) -> StoreFuture<'_, Schedule> {
        self.call(move |memory, _| {
            let schedule = schedule(memory, id)?;
            schedule.paused = true;
            Ok(schedule.clone())
        })
    }

    fn resume_schedule(&self, id: ScheduleId, next: Timestamp) -> StoreFuture<'_, Schedule> {
        self.call(move |memory, _| {
            let schedule = schedule(memory, id)?;
            schedule.paused = false;
            schedule.next_at = next;
            Ok(schedule.clone())
        })
    }

    fn remove_schedule(&self, id: ScheduleId) -> StoreFuture<'_, Schedule> {
        self.call(move |memory, _| {
            let removed = find("schedule", id, &memory.schedules, |found| found.id == id)?;
            memory.schedules.retain(|found| found.id != id);
            Ok(removed)
        })
    }

    fn run_schedule(&self, run: DueRun) -> StoreFuture<'_, Option<Task>> {
        self.call(move |memory, now| {
            let found = schedule(memory, run.schedule)?;
            if found.paused || found.next_at != run.due {
                return Ok(None);
            }
            found.next_at = run.next;
            let (last, task) = (found.last_task, found.task.clone());
            if let Some(last) = last {
                let last = &memory.row(last)?.task;
                if last.status == TaskStatus::Pending && last.attempt == 0 {
                    return Ok(None);
                }
            }
            let key = Some(format!("schedule-{}-{}", run.schedule, run.due));
            let task = NewTask {
                idempotency_key: key,
                ..task
            };
            let added = memory.enqueue(vec![task], now)?.remove(0).task;
            let found = schedule(memory, run.schedule)?;
            found.last_at = Some(run.due);
            found.last_task = Some(added.id);
            Ok(Some(added))
        })
    }
}

impl TakeOver for SimStore {
    fn send_message(
        &self,
        task: TaskId,
        author: String,
        text: String,
    ) -> StoreFuture<'_, AgentMessage> {
        self.call(move |memory, now| {
            memory.row(task)?;
            let message = AgentMessage {
                id: next_id(memory.messages.len()),
                task_id: task,
                author,
                text,
                created_at: now.wall,
                attempt: None,
            };
            memory.messages.push(message.clone());
            Ok(message)
        })
    }

    fn messages(&self, task: TaskId) -> StoreFuture<'_, Vec<AgentMessage>> {
        self.call(move |memory, _| {
            let all = memory.messages.iter();
            Ok(all
                .filter(|message| message.task_id == task)
                .cloned()
                .collect())
        })
    }

    fn take_messages(
        &self,
        attempt: AttemptRef,
        seen: Option<MessageId>,
    ) -> StoreFuture<'_, Vec<AgentMessage>> {
        self.call(move |memory, _| {
            memory.fenced(attempt)?;
            let of_task = |message: &&mut AgentMessage| message.task_id == attempt.task;
            let mut taken = Vec::new();
            for message in memory.messages.iter_mut().filter(of_task) {
                let by = *message.attempt.get_or_insert(attempt.number);
                if by == attempt.number && Some(message.id) > seen {
                    taken.push(message.clone());
                }
            }
            Ok(taken)
        })
    }

    fn take_over(&self, claim: Claim) -> StoreFuture<'_, Claimed> {
        self.call(move |memory, now| {
            let id = claim.task.unwrap();
            let task = memory.row(id)?.task.clone();
            match task.status {
                TaskStatus::InProgress => {
                    return Err(StoreError::Refused(format!("task {id} is running")));
                }
                TaskStatus::Pending => memory.row(id)?.task.paused = false,
                _ => drop(memory.reopen(id, now)?),
            }
            let claimed = memory.claim(&claim, now);
            claimed.ok_or_else(|| StoreError::Refused(format!("task {id} waits")))
        })
    }
}
