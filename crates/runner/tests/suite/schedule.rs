//! Schedules: each due time adds one task, whatever the clock and other workers do.

use futures::future::join_all;
use windlass_core::{Clock, Timestamp};
use windlass_runner::{Cron, RunnerSettings};
use windlass_tasks::{NewSchedule, NewTask, ProjectId, Schedules, TaskId, TaskStatus};

use super::sim::agent::Action;
use super::sim::faults::Rates;
use super::sim::harness::Harness;

const HOUR: i64 = 3_600;
/// No task was added.
const NONE: [TaskId; 0] = [];

async fn hourly(harness: &Harness) -> Timestamp {
    let cron = "0 * * * *";
    let parsed: Cron = cron.parse().unwrap();
    let next_at = parsed.next(harness.clock.now(), "UTC").unwrap();
    let schedule = NewSchedule {
        cron: cron.to_owned(),
        zone: "UTC".to_owned(),
        task: NewTask::new(ProjectId::from(1), "look after it"),
        next_at,
    };
    harness.store.add_schedule(schedule).await.unwrap();
    next_at
}

fn complete_all(harness: &Harness) -> usize {
    let mut memory = harness.store.memory();
    let rows = memory.rows.values_mut();
    let done = rows.map(|row| row.task.status = TaskStatus::Completed);
    done.count()
}

#[tokio::test(start_paused = true)]
async fn missed_runs_are_coalesced_and_two_workers_add_one_task() {
    let harness = Harness::with_actions(&[Action::NoChange]);
    let due = hourly(&harness).await;
    let runner = harness.runner(RunnerSettings::default());
    let other = harness.runner(RunnerSettings::default());
    assert_eq!(runner.run_schedules(None).await.unwrap(), NONE);

    // Five runs are missed.
    harness.clock.jump(5 * HOUR);
    let both = join_all([
        runner.run_schedules(None),
        other.run_schedules(Some(ProjectId::from(1))),
    ])
    .await;
    let added: Vec<TaskId> = both.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(added, [TaskId::from(1)]);
    let key = harness.task(1).idempotency_key.unwrap();
    assert_eq!(key, format!("schedule-1-{due}"));
    let next = harness
        .store
        .schedules(None)
        .await
        .unwrap()
        .remove(0)
        .next_at;
    assert!(next > harness.clock.now(), "the next run is in the future");
    assert_eq!(
        runner
            .run_schedules(Some(ProjectId::from(2)))
            .await
            .unwrap(),
        NONE
    );
}

#[tokio::test(start_paused = true)]
async fn clock_that_is_set_back_adds_nothing_twice() {
    let harness = Harness::with_actions(&[Action::NoChange]);
    hourly(&harness).await;
    let runner = harness.runner(RunnerSettings::default());
    harness.clock.jump(HOUR);
    assert_eq!(runner.run_schedules(None).await.unwrap(), [TaskId::from(1)]);
    complete_all(&harness);
    for _ in 0..3 {
        harness.clock.jump(-HOUR / 2);
        assert_eq!(runner.run_schedules(None).await.unwrap(), NONE);
    }
    harness.clock.jump(3 * HOUR);
    assert_eq!(runner.run_schedules(None).await.unwrap(), [TaskId::from(2)]);
}

#[tokio::test(start_paused = true)]
async fn lost_answers_add_nothing_twice() {
    let rates = Rates {
        lost: 400,
        rejected: 200,
        ..Rates::default()
    };
    let harness = Harness::new(
        7,
        Rates::default(),
        std::sync::Arc::new(|_| Action::NoChange),
        true,
    );
    hourly(&harness).await;
    harness.faults.set(|now| *now = rates);
    let runner = harness.runner(RunnerSettings::default());
    for run in 1..=20 {
        harness.clock.jump(HOUR);
        // A run that failed is repeated, by this worker or by another.
        for _ in 0..30 {
            let _ = runner.run_schedules(None).await;
        }
        assert_eq!(complete_all(&harness), run, "one task per hour");
    }
}
