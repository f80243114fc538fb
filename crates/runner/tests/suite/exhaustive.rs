//! Workers that crash or pause at each of their steps.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::Clock;
use windlass_runner::{RunnerSettings, StopSignals};
use windlass_tasks::{NewTask, ProjectId, TaskId, TaskQueue, TaskStatus};

use super::leases::worker;
use super::sim::agent::Action;
use super::sim::check;
use super::sim::harness::Harness;
use super::sim::interruption::{Interrupted, Interruption};
use super::sim::repo::GOOD;

#[tokio::test(start_paused = true)]
async fn p4_crash_at_any_step_publishes_at_most_once() {
    let mut completed_by_recovery = 0;
    for step in 1..2000 {
        let harness = Harness::with_actions(&[
            Action::Write("bad"),
            Action::Write(GOOD),
            Action::Write(GOOD),
            Action::Write(GOOD),
        ]);
        let task = harness.add_task("a task");
        let first = worker(&harness, true);
        let interruption = Interruption {
            crash: Some(step),
            ..Interruption::default()
        };
        let work = Box::pin(async move { first.run(CancellationToken::new()).await });
        let ended = Interrupted::new(work, interruption).await;
        let prompts_before = harness.prompts().len();
        harness.clock.sleep(Duration::from_secs(31)).await;
        worker(&harness, true)
            .run(CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(
            harness.task(task.id).status,
            TaskStatus::Completed,
            "step {step}"
        );
        assert_eq!(
            harness.repo.published.lock().unwrap().len(),
            1,
            "step {step}"
        );
        check::all(&harness);
        if ended.is_none()
            && harness.task(task.id).attempt == 2
            && harness.prompts().len() == prompts_before
        {
            completed_by_recovery += 1;
            // A retry runs the task again.
            harness.store.retry(task.id, false).await.unwrap();
            worker(&harness, true)
                .run(CancellationToken::new())
                .await
                .unwrap();
            assert_eq!(harness.task(task.id).status, TaskStatus::Completed);
            assert!(
                harness.prompts().len() > prompts_before,
                "step {step}: the agent was not prompted again"
            );
        }
        if ended.is_some() {
            assert!(
                completed_by_recovery > 0,
                "no crash occurred between publishing and reporting"
            );
            return;
        }
    }
    panic!("the worker takes more steps than were tested");
}

#[tokio::test(start_paused = true)]
async fn p4_retry_completes_last_attempt_that_published_and_crashed() {
    let mut completed_by_recovery = 0;
    for step in 1..2000 {
        let harness = Harness::with_actions(&[Action::Write(GOOD), Action::Write(GOOD)]);
        let task = harness.add(NewTask {
            max_attempts: 1,
            ..NewTask::new(ProjectId::from(1), "a task")
        });
        let first = worker(&harness, true);
        let interruption = Interruption {
            crash: Some(step),
            ..Interruption::default()
        };
        let work = Box::pin(async move { first.run(CancellationToken::new()).await });
        if Interrupted::new(work, interruption).await.is_some() {
            assert!(
                completed_by_recovery > 0,
                "no crash occurred between publishing and reporting"
            );
            return;
        }
        let prompts_before = harness.prompts().len();
        let published = harness.repo.published.lock().unwrap().len();
        harness.clock.sleep(Duration::from_secs(31)).await;
        let again = || async { worker(&harness, true).run(CancellationToken::new()).await };
        again().await.unwrap();
        check::all(&harness);
        if harness.task(task.id).status == TaskStatus::Failed {
            harness.store.retry(task.id, false).await.unwrap();
            again().await.unwrap();
            if published == 1 {
                assert_eq!(
                    harness.prompts().len(),
                    prompts_before,
                    "step {step}: prompted again"
                );
                completed_by_recovery += 1;
            }
        }
        let now = harness.task(task.id).status;
        assert_eq!(now, TaskStatus::Completed, "step {step}");
        assert_eq!(
            harness.repo.published.lock().unwrap().len(),
            1,
            "step {step}"
        );
    }
    panic!("the worker takes more steps than were tested");
}

/// Runs a worker that is paused at this step for this long, concurrently with one that is not.
async fn run_paused_and_other(
    step: u32,
    pause: Duration,
) -> (Harness, [tokio::task::JoinHandle<()>; 2]) {
    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    harness.add_task("a task");
    let runner = harness.runner(RunnerSettings::default());
    let work = Box::pin(async move {
        let claimed = runner
            .claim_task(runner.next_claim())
            .await
            .unwrap()
            .unwrap();
        runner.run_attempt(claimed, StopSignals::default()).await;
    });
    let interruption = Interruption {
        pause: Some((step, pause)),
        ..Interruption::default()
    };
    let first = tokio::spawn(async move {
        Interrupted::new(work, interruption).await;
    });
    harness.clock.sleep(Duration::from_secs(1)).await;
    let other = worker(&harness, true);
    let second = tokio::spawn(async move {
        // It runs until one of the workers has finished the task.
        for _ in 0..40 {
            other.run(CancellationToken::new()).await.unwrap();
            other.runner.clock.sleep(Duration::from_secs(5)).await;
        }
    });
    (harness, [first, second])
}

#[tokio::test(start_paused = true)]
async fn p4_resumed_publisher_races_new_attempt_safely() {
    let day = Duration::from_secs(24 * 3600);
    // Finds the step between the intent and publishing, and how long after it another attempt starts.
    let mut found = None;
    for step in 1..400 {
        let (harness, workers) = run_paused_and_other(step, day).await;
        let mut intent_at = None;
        while harness.task(1).attempt < 2 && !harness.task(1).status.is_final() {
            harness.clock.sleep(Duration::from_millis(20)).await;
            if intent_at.is_none()
                && !harness
                    .store
                    .memory()
                    .row(TaskId::from(1))
                    .unwrap()
                    .intents
                    .is_empty()
            {
                intent_at = Some(harness.clock.elapsed());
            }
        }
        let is_between = harness.repo.published.lock().unwrap().is_empty();
        workers.iter().for_each(|worker| worker.abort());
        if let Some(intent_at) = intent_at.filter(|_| is_between) {
            found = Some((step, harness.clock.elapsed() - intent_at));
            break;
        }
    }
    let (step, after) = found.expect("no step is between intent and publishing");
    for shift in 0..150 {
        let pause = after + Duration::from_millis(shift * 2) - Duration::from_millis(60);
        let (harness, [first, second]) = run_paused_and_other(step, pause).await;
        first.await.unwrap();
        second.await.unwrap();
        assert_eq!(
            harness.task(1).status,
            TaskStatus::Completed,
            "shift {shift}"
        );
        check::all(&harness);
    }
}
