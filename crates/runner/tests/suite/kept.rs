//! The change of every attempt is kept, and the next attempt starts from it.

use std::time::Duration;

use windlass_core::Clock;
use windlass_runner::{Budget, ResultStatus, RunnerSettings, StopSignals};
use windlass_tasks::{AttemptRecords, Blockers, TaskQueue};

use super::sim::agent::Action;
use super::sim::check;
use super::sim::harness::Harness;
use super::sim::repo::{GOOD, TestFault};

const BAD: Action = Action::Write("bad");

/// The signal that ends an attempt from outside.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ending {
    ByItself,
    Cancel,
    Stop,
}

/// Runs a task once with an agent that writes a bad change first, and checks that the change is kept.
async fn check_kept(
    actions: &[Action],
    settings: RunnerSettings,
    fault: Option<TestFault>,
    (ending, expected): (Ending, ResultStatus),
) {
    let harness = Harness::with_actions(actions);
    harness.repo.test_faults.lock().unwrap().extend(fault);
    let task = harness.add_task("a task");
    let runner = harness.runner(settings);
    let signals = StopSignals::default();
    let outside = signals.clone();
    let later = async {
        tokio::time::sleep(Duration::from_secs(45)).await;
        match ending {
            Ending::ByItself => {}
            Ending::Cancel => outside.cancel.cancel(),
            Ending::Stop => outside.stop.cancel(),
        }
    };
    let (result, ()) = tokio::join!(runner.execute_task(&task, signals), later);
    assert_eq!(result.unwrap().status, expected, "{actions:?}");
    let attempts = harness.store.attempts(task.id).await.unwrap();
    let commit = attempts[0].commit.clone().unwrap();
    let (text, message) = harness.repo.commits.lock().unwrap()[&commit].clone();
    assert_eq!(text, "bad", "{actions:?}");
    assert!(
        !message.contains("Task-Id"),
        "it is not published: {message}"
    );
    assert!(
        harness.repo.clones.lock().unwrap().is_empty(),
        "{actions:?}"
    );
    check::all(&harness);
}

#[tokio::test(start_paused = true)]
async fn p29_change_is_kept_after_every_outcome() {
    let settings = RunnerSettings::default;
    let hang = &[BAD, Action::Hang][..];
    let by_itself = |status| (Ending::ByItself, status);
    let failed = by_itself(ResultStatus::Failed);
    let cancelled = (Ending::Cancel, ResultStatus::Cancelled);
    let released = (Ending::Stop, ResultStatus::Released);
    check_kept(&[BAD], settings(), None, by_itself(ResultStatus::Blocked)).await;
    let fail = Action::Fail { recoverable: true };
    check_kept(&[BAD, fail], settings(), None, failed).await;
    check_kept(&[BAD, Action::Panic], settings(), None, failed).await;
    check_kept(&[BAD], settings(), Some(TestFault::Panic), failed).await;
    check_kept(hang, settings(), None, cancelled).await;
    check_kept(hang, settings(), None, released).await;
    let timeout = RunnerSettings {
        turn_timeout: Some(Duration::from_secs(90)),
        ..settings()
    };
    check_kept(hang, timeout, None, failed).await;
    let out_of_turns = RunnerSettings {
        budget: Budget {
            turns: Some(1),
            ..Budget::default()
        },
        ..settings()
    };
    check_kept(&[BAD], out_of_turns, None, failed).await;
    let out_of_time = RunnerSettings {
        budget: Budget {
            wall: Some(Duration::from_secs(60)),
            ..Budget::default()
        },
        ..settings()
    };
    check_kept(hang, out_of_time, None, failed).await;
}

#[tokio::test(start_paused = true)]
async fn p29_next_attempt_starts_from_the_change_unless_retried_fresh() {
    let harness = Harness::with_actions(&[BAD]);
    let task = harness.add_task("a task");
    assert_eq!(harness.run(&task).await.status, ResultStatus::Blocked);
    let first_prompts = harness.prompts().len();
    let id = harness.store.task_blockers(task.id).await.unwrap()[0].id;
    let answered = harness.store.answer_blocker(id, "go on".to_owned()).await;
    harness.run(&answered.unwrap()).await;
    let prompts = harness.prompts();
    assert!(!prompts[0].contains("Earlier attempt"), "{}", prompts[0]);
    let second = &prompts[first_prompts];
    assert!(second.contains("Earlier attempt"), "{second}");
    let attempts = harness.store.attempts(task.id).await.unwrap();
    assert_eq!(attempts[1].commit, None, "it wrote what was there already");

    let before = harness.prompts().len();
    let fresh = harness.store.retry(task.id, true).await.unwrap();
    harness.run(&fresh).await;
    let third = &harness.prompts()[before];
    assert!(!third.contains("Earlier attempt"), "{third}");
    let attempts = harness.store.attempts(task.id).await.unwrap();
    assert!(attempts[2].commit.is_some());
    check::all(&harness);
}

#[tokio::test(start_paused = true)]
async fn p29_change_of_a_crashed_attempt_is_continued() {
    let harness = Harness::with_actions(&[BAD, Action::Hang, Action::Write(GOOD)]);
    let task = harness.add_task("a task");
    let runner = harness.runner(RunnerSettings::default());
    let claimed = runner
        .claim_task(runner.next_claim())
        .await
        .unwrap()
        .unwrap();
    // Dropping the attempt has the effect of a crash.
    let attempt = runner.run_attempt(claimed, StopSignals::default());
    let crashed = tokio::time::timeout(Duration::from_secs(60), attempt).await;
    assert!(crashed.is_err());
    assert_eq!(harness.repo.clones.lock().unwrap().len(), 1);
    harness.clock.sleep(Duration::from_secs(31)).await;
    runner.store.reclaim_expired().await.unwrap();
    let result = harness.run(&harness.task(task.id)).await;
    assert_eq!(result.status, ResultStatus::Completed);
    let attempts = harness.store.attempts(task.id).await.unwrap();
    let commit = attempts[0].commit.clone().unwrap();
    assert_eq!(harness.repo.commits.lock().unwrap()[&commit].0, "bad");
    let last = harness.prompts().last().unwrap().clone();
    assert!(last.contains("Earlier attempt"), "{last}");
    assert!(harness.repo.clones.lock().unwrap().is_empty());
    check::all(&harness);
}
