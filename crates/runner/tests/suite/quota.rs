//! A provider that limits an agent delays the task, and costs no attempt.

use std::time::Duration;

use windlass_core::Clock;
use windlass_runner::{Budget, ResultStatus, RunnerSettings};
use windlass_tasks::{AccountLimits, Broadcast, NewAccountLimit};

use super::sim::agent::Action;
use super::sim::harness::Harness;
use super::sim::repo::GOOD;

const HOUR: Duration = Duration::from_secs(3600);

async fn limit(harness: &Harness, agent: &str, wait: Duration) {
    let limit = NewAccountLimit {
        account: "api.example".to_owned(),
        agent: agent.to_owned(),
        wait,
        reason: "usage limit reached".to_owned(),
    };
    harness.store.limit_account(limit).await.unwrap();
}

fn activities(broadcasts: &[Broadcast]) -> Vec<&str> {
    let mut found = Vec::new();
    for broadcast in broadcasts {
        if let Broadcast::ActivityUpdate { message, .. } = broadcast {
            found.push(message.as_str());
        }
    }
    found
}

#[tokio::test(start_paused = true)]
async fn limited_agent_starts_when_the_limit_ends() {
    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    limit(&harness, "scripted", 3 * HOUR).await;
    let task = harness.add_task("a task");
    // Waiting does not count for the time budget.
    let settings = RunnerSettings {
        budget: Budget {
            wall: Some(HOUR / 60),
            ..Budget::default()
        },
        ..RunnerSettings::default()
    };
    let (result, broadcasts) = harness.run_with(&task, settings).await;
    assert_eq!(result.status, ResultStatus::Completed, "{:?}", result.error);
    let elapsed = harness.clock.elapsed();
    assert!(elapsed >= 3 * HOUR && elapsed < 4 * HOUR, "{elapsed:?}");
    assert_eq!(harness.task(task.id).attempt, 1);
    let activities = activities(&broadcasts);
    let waiting = activities
        .iter()
        .filter(|text| text.contains("waiting for quota until"));
    assert_eq!(waiting.count(), 1, "{activities:?}");
}

#[tokio::test(start_paused = true)]
async fn limited_turn_is_repeated_when_the_limit_ends() {
    let harness = Harness::with_actions(&[Action::RateLimited, Action::Write(GOOD)]);
    limit(&harness, "another agent of the account", 2 * HOUR).await;
    let task = harness.add_task("a task");
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Completed, "{:?}", result.error);
    assert!(harness.clock.elapsed() >= 2 * HOUR);
    assert_eq!(harness.task(task.id).attempt, 1);
    let prompts = harness.prompts();
    assert_eq!(prompts.len(), 2);
    assert_eq!(prompts[0], prompts[1]);
}

#[tokio::test(start_paused = true)]
async fn limit_that_never_ends_fails_the_attempt_in_the_end() {
    let harness = Harness::with_actions(&[Action::RateLimited]);
    // Longer than all waits together.
    limit(
        &harness,
        "another agent of the account",
        Duration::from_millis(1),
    )
    .await;
    let task = harness.add_task("a task");
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Failed);
}

#[tokio::test(start_paused = true)]
async fn other_agent_goes_on_with_a_hand_over() {
    let harness = Harness::with_actions(&[Action::RateLimited, Action::Write(GOOD)]);
    harness.agent.lock().unwrap().has_alternative = true;
    limit(&harness, "another agent of the account", 2 * HOUR).await;
    let task = harness.add_task("a task");
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Completed, "{:?}", result.error);
    assert!(harness.clock.elapsed() < HOUR, "it must not wait");
    let prompts = harness.prompts();
    assert_eq!(prompts.len(), 2);
    assert!(prompts[1].contains("a task"), "{}", prompts[1]);
    assert!(prompts[1].contains("## Hand-over"), "{}", prompts[1]);
}
