//! Attempts that do not succeed: agent failures, budgets, cancellation.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use windlass_core::PermissionPolicy;
use windlass_runner::{Budget, ResultStatus, RunnerSettings, StopSignals};
use windlass_tasks::{ApprovalId, Approvals, Broadcast, TaskQueue, TaskStatus};

use super::sim::agent::Action;
use super::sim::faults::{Faults, Rates};
use super::sim::harness::Harness;
use super::sim::repo::{GOOD, TestFault};

async fn assert_fails(action: Action, status: TaskStatus, error: &str) {
    let harness = Harness::with_actions(&[action]);
    let task = harness.add_task("a task");
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Failed, "{action:?}");
    let message = result.error.unwrap();
    assert!(message.contains(error), "{action:?}: {message}");
    assert_eq!(harness.task(task.id).status, status, "{action:?}");
    assert!(
        harness.repo.clones.lock().unwrap().is_empty(),
        "the clone was not removed"
    );
}

#[tokio::test(start_paused = true)]
async fn p11_agent_failure_fails_only_its_attempt() {
    assert_fails(Action::Hang, TaskStatus::Pending, "Timeout").await;
    assert_fails(Action::Panic, TaskStatus::Failed, "panicked").await;
    assert_fails(
        Action::EndWithoutResult,
        TaskStatus::Pending,
        "without a terminal event",
    )
    .await;
    assert_fails(
        Action::Fail { recoverable: true },
        TaskStatus::Pending,
        "overloaded",
    )
    .await;
    assert_fails(
        Action::Fail { recoverable: false },
        TaskStatus::Failed,
        "overloaded",
    )
    .await;
}

/// Runs a task once, and returns how its attempt ended. No agent of the attempt is left.
async fn ending(actions: &[Action], fault: Option<TestFault>, cancel: bool) -> ResultStatus {
    let harness = Harness::with_actions(actions);
    harness.repo.test_faults.lock().unwrap().extend(fault);
    let task = harness.add_task("a task");
    let signals = StopSignals::default();
    let runner = harness.runner(RunnerSettings::default());
    let stop = signals.cancel.clone();
    let later = async {
        if cancel {
            tokio::time::sleep(Duration::from_secs(45)).await;
            stop.cancel();
        }
    };
    let (result, ()) = tokio::join!(runner.execute_task(&task, signals), later);
    assert!(!harness.prompts().is_empty(), "the agent was not used");
    assert_eq!(harness.agent.lock().unwrap().open_scopes, 0, "{actions:?}");
    result.unwrap().status
}

#[tokio::test(start_paused = true)]
async fn p5_agents_end_with_every_attempt() {
    let check = async |actions: &[Action], fault, cancel, expected| {
        assert_eq!(ending(actions, fault, cancel).await, expected);
    };
    let recoverable = Action::Fail { recoverable: true };
    let good = [Action::Write(GOOD)];
    check(&good, None, false, ResultStatus::Completed).await;
    check(&[Action::NoChange], None, false, ResultStatus::Blocked).await;
    check(&[recoverable], None, false, ResultStatus::Failed).await;
    check(&[Action::Hang], None, false, ResultStatus::Failed).await;
    check(&[Action::Panic], None, false, ResultStatus::Failed).await;
    check(&[Action::Hang], None, true, ResultStatus::Cancelled).await;
    check(&good, Some(TestFault::Panic), false, ResultStatus::Failed).await;
}

#[tokio::test(start_paused = true)]
async fn code_generation_times_out_after_five_minutes() {
    let harness = Harness::with_actions(&[Action::Hang]).without_tools();
    let task = harness.add_task("a task");
    let result = harness.run(&task).await;
    assert_eq!(result.error.as_deref(), Some("Timeout"));
    let elapsed = windlass_core::Clock::elapsed(&*harness.clock);
    assert!((300..310).contains(&elapsed.as_secs()), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn p26_exhausted_budget_ends_attempt_and_is_named() {
    let check = async |budget: Budget, turns: usize, what: &str| {
        let harness = Harness::with_actions(&[Action::Write("bad")]);
        let task = harness.add_task("a task");
        let settings = RunnerSettings {
            budget,
            ..RunnerSettings::default()
        };
        let (result, _) = harness.run_with(&task, settings).await;
        let error = result.error.unwrap();
        assert!(error.starts_with("BudgetExhausted: "), "{error}");
        assert!(error.contains(what), "{error}");
        assert_eq!(harness.prompts().len(), turns, "{what}");
        assert_eq!(harness.task(task.id).status, TaskStatus::Failed);
        assert_eq!(harness.task(task.id).usage.input_tokens, 10 * turns as u64);
    };
    let tokens = Budget {
        tokens: Some(20),
        ..Budget::default()
    };
    check(tokens, 2, "30 of 20 tokens").await;
    let cost = Budget {
        cost_usd: Some(1.5),
        ..Budget::default()
    };
    check(cost, 3, "$1.5000 of $1.5000").await;
    let turns = Budget {
        turns: Some(1),
        ..Budget::default()
    };
    check(turns, 1, "1 of 1 turns").await;
}

#[tokio::test(start_paused = true)]
async fn p26_time_budget_stops_running_turn() {
    let harness = Harness::with_actions(&[Action::Hang]);
    let task = harness.add_task("a task");
    let budget = Budget {
        wall: Some(Duration::from_secs(60)),
        ..Budget::default()
    };
    let (result, _) = harness
        .run_with(
            &task,
            RunnerSettings {
                budget,
                ..RunnerSettings::default()
            },
        )
        .await;
    let error = result.error.unwrap();
    assert!(
        error.starts_with("BudgetExhausted: 60 of 60 s") || error == "Timeout",
        "{error}"
    );
    let elapsed = windlass_core::Clock::elapsed(&*harness.clock);
    assert!(elapsed < Duration::from_secs(70), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn cancelled_task_ends_within_one_heartbeat() {
    let harness = Harness::with_actions(&[Action::Hang]);
    let task = harness.add_task("a task");
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(61)).await;
        harness.store.cancel(task.id).await.unwrap();
        tokio::time::Instant::now()
    };
    let (result, requested) = tokio::join!(harness.run(&task), cancel);
    assert_eq!(result.status, ResultStatus::Cancelled);
    assert_eq!(harness.task(task.id).status, TaskStatus::Cancelled);
    assert!(
        requested.elapsed() <= Duration::from_secs(11),
        "{:?}",
        requested.elapsed()
    );
    assert!(
        harness.repo.clones.lock().unwrap().is_empty(),
        "the clone was not removed"
    );
}

#[tokio::test(start_paused = true)]
async fn caller_cancels_immediately() {
    let harness = Harness::with_actions(&[Action::Hang]);
    let task = harness.add_task("a task");
    let runner = harness.runner(RunnerSettings::default());
    let signals = StopSignals::default();
    let cancel = signals.cancel.clone();
    let later = async {
        tokio::time::sleep(Duration::from_secs(45)).await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(runner.execute_task(&task, signals), later);
    assert_eq!(result.unwrap().status, ResultStatus::Cancelled);
    assert_eq!(harness.task(task.id).status, TaskStatus::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn agent_events_are_stored_before_completion() {
    let harness = Harness::with_actions(&[Action::Write("bad"), Action::Write(GOOD)]);
    harness.faults.set(|rates| rates.slow = 500);
    let task = harness.add_task("a task");
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
    let memory = harness.store.memory();
    let mut seqs = Vec::new();
    let mut completed = None;
    for event in &memory.events {
        match &event.message {
            Broadcast::AgentEvent { envelope, .. } => {
                assert_eq!(completed, None, "an event after the end");
                seqs.push((envelope.turn.0, envelope.seq));
            }
            Broadcast::TaskStatus {
                status: TaskStatus::Completed,
                ..
            } => completed = Some(event.seq),
            _ => {}
        }
    }
    assert_eq!(seqs, [(1, 1), (1, 2), (2, 1), (2, 2)]);
}

#[tokio::test(start_paused = true)]
async fn panic_fails_attempt_but_not_worker() {
    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    harness
        .repo
        .test_faults
        .lock()
        .unwrap()
        .push(TestFault::Panic);
    let task = harness.add_task("a task");
    let runner = Arc::new(harness.runner(RunnerSettings::default()));
    let worker = windlass_runner::Worker {
        once: true,
        ..windlass_runner::Worker::new(runner)
    };
    let report = worker.run(Default::default()).await.unwrap();
    let errors: Vec<_> = report
        .results
        .iter()
        .map(|(_, result)| result.error.clone())
        .collect();
    assert_eq!(
        errors,
        [
            Some("the attempt panicked: a bug in the tests".to_owned()),
            None
        ]
    );
    assert_eq!(harness.task(task.id).status, TaskStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn worker_that_runs_once_ends_if_the_store_stays_unavailable() {
    let faults: Arc<OnceLock<Arc<Faults>>> = Arc::default();
    let of_store = Arc::clone(&faults);
    let script = Arc::new(move |_| {
        let faults = of_store.get().unwrap();
        faults.set(|rates| rates.unavailable = true);
        Action::Write(GOOD)
    });
    let harness = Harness::new(1, Rates::default(), script, true);
    faults.set(Arc::clone(&harness.faults)).unwrap();
    harness.add_task("a task");
    let runner = Arc::new(harness.runner(RunnerSettings::default()));
    let worker = windlass_runner::Worker {
        once: true,
        ..windlass_runner::Worker::new(runner)
    };
    let run = worker.run(Default::default());
    let ended = tokio::time::timeout(Duration::from_secs(24 * 3600), run).await;
    let error = ended.expect("the worker retries for ever").unwrap_err();
    assert!(
        error.to_string().contains("the store is unavailable"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn full_disk_delays_retry() {
    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    harness
        .repo
        .test_faults
        .lock()
        .unwrap()
        .push(TestFault::DiskFull);
    let task = harness.add_task("a task");
    let result = harness.run(&task).await;
    assert_eq!(result.error.as_deref(), Some("no space left"));
    assert_eq!(harness.task(task.id).status, TaskStatus::Pending);
    let elapsed = windlass_core::Clock::elapsed(&*harness.clock);
    assert!(elapsed >= Duration::from_secs(30), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn rate_limited_turn_is_retried() {
    let harness = Harness::with_actions(&[
        Action::RateLimited,
        Action::RateLimited,
        Action::Write(GOOD),
    ]);
    let task = harness.add_task("a task");
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
    assert_eq!(harness.task(task.id).attempt, 1);

    let harness = Harness::with_actions(&[Action::RateLimited]);
    let task = harness.add_task("a task");
    let result = harness.run(&task).await;
    assert_eq!(result.error.as_deref(), Some("too many requests"));
    assert_eq!(harness.task(task.id).status, TaskStatus::Pending);
}

#[tokio::test(start_paused = true)]
async fn permission_request_is_decided_through_store() {
    let harness = Harness::with_actions(&[Action::RequestPermission]);
    let task = harness.add_task("a task");
    let settings = RunnerSettings {
        permissions: PermissionPolicy::Ask,
        ..RunnerSettings::default()
    };
    let decide = async {
        while harness.store.memory().approvals.is_empty() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        harness
            .store
            .decide_approval(ApprovalId::from(1), Some("yes".to_owned()))
            .await
            .unwrap();
    };
    let ((result, _), ()) = tokio::join!(harness.run_with(&task, settings.clone()), decide);
    assert_eq!(result.status, ResultStatus::Completed);
    let approval = harness.store.memory().approvals[0].clone();
    assert_eq!(approval.request.attempt.number, 1);
    assert_eq!(approval.request.tool, "write");

    // No decision until the turn ends: the request is withdrawn.
    let task = harness.add_task("another");
    let (result, _) = harness.run_with(&task, settings).await;
    assert_eq!(result.error.as_deref(), Some("Timeout"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let decision = harness.store.memory().approvals[1].decision.clone();
    assert_eq!(decision.unwrap().option, None);
}
