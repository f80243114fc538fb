//! How attempts end that do not end well: agents at fault, budgets, cancelling.

use std::time::Duration;

use windlass_core::task::{Broadcast, TaskStatus};
use windlass_core::{PermissionPolicy, TaskStore};
use windlass_runner::{Budget, ResultStatus, RunnerSettings, StopSignals};

use super::sim::agent::Act;
use super::sim::place::{GOOD, Mishap};
use super::sim::world::World;

async fn ends(act: Act, status: TaskStatus, error: &str) {
    let world = World::calm(&[act]);
    let task = world.task("a task");
    let result = world.run(&task).await;
    assert_eq!(result.status, ResultStatus::Failed, "{act:?}");
    let said = result.error.unwrap();
    assert!(said.contains(error), "{act:?}: {said}");
    assert_eq!(world.now(task.id).status, status, "{act:?}");
    assert!(
        world.repo.folders.lock().unwrap().is_empty(),
        "the clone stays behind"
    );
}

#[tokio::test(start_paused = true)]
async fn p11_an_agent_at_fault_fails_its_attempt_and_no_more() {
    ends(Act::Hang, TaskStatus::Pending, "Timeout").await;
    ends(Act::Panic, TaskStatus::Failed, "panicked").await;
    ends(Act::Vanish, TaskStatus::Pending, "without saying how").await;
    ends(
        Act::Fail { recoverable: true },
        TaskStatus::Pending,
        "overloaded",
    )
    .await;
    ends(
        Act::Fail { recoverable: false },
        TaskStatus::Failed,
        "overloaded",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_generates_code_has_five_minutes() {
    let world = World::calm(&[Act::Hang]).generating();
    let task = world.task("a task");
    let result = world.run(&task).await;
    assert_eq!(result.error.as_deref(), Some("Timeout"));
    let elapsed = windlass_core::Clock::elapsed(&*world.clock);
    assert!((300..310).contains(&elapsed.as_secs()), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn p26_a_budget_ends_the_attempt_under_its_own_name() {
    let check = async |budget: Budget, turns: usize, what: &str| {
        let world = World::calm(&[Act::Write("bad")]);
        let task = world.task("a task");
        let settings = RunnerSettings {
            budget,
            ..RunnerSettings::default()
        };
        let (result, _) = world.watch(&task, settings).await;
        let error = result.error.unwrap();
        assert!(error.starts_with("BudgetExhausted: "), "{error}");
        assert!(error.contains(what), "{error}");
        assert_eq!(world.prompts().len(), turns, "{what}");
        assert_eq!(world.now(task.id).status, TaskStatus::Failed);
        assert_eq!(world.now(task.id).usage.input_tokens, 10 * turns as u64);
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
async fn p26_wall_time_stops_a_turn_that_is_under_way() {
    let world = World::calm(&[Act::Hang]);
    let task = world.task("a task");
    let budget = Budget {
        wall: Some(Duration::from_secs(60)),
        ..Budget::default()
    };
    let (result, _) = world
        .watch(
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
    let elapsed = windlass_core::Clock::elapsed(&*world.clock);
    assert!(elapsed < Duration::from_secs(70), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_ends_within_a_heartbeat() {
    let world = World::calm(&[Act::Hang]);
    let task = world.task("a task");
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(61)).await;
        world.store.cancel(task.id).await.unwrap();
        tokio::time::Instant::now()
    };
    let (result, asked) = tokio::join!(world.run(&task), cancel);
    assert_eq!(result.status, ResultStatus::Cancelled);
    assert_eq!(world.now(task.id).status, TaskStatus::Cancelled);
    assert!(
        asked.elapsed() <= Duration::from_secs(11),
        "{:?}",
        asked.elapsed()
    );
    assert!(
        world.repo.folders.lock().unwrap().is_empty(),
        "the clone stays behind"
    );
}

#[tokio::test(start_paused = true)]
async fn a_caller_cancels_at_once() {
    let world = World::calm(&[Act::Hang]);
    let task = world.task("a task");
    let runner = world.runner(RunnerSettings::default());
    let signals = StopSignals::default();
    let cancel = signals.cancel.clone();
    let later = async {
        tokio::time::sleep(Duration::from_secs(45)).await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(runner.execute_task(&task, signals), later);
    assert_eq!(result.unwrap().status, ResultStatus::Cancelled);
    assert_eq!(world.now(task.id).status, TaskStatus::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn every_event_of_the_agent_is_in_the_store_before_the_end() {
    let world = World::calm(&[Act::Write("bad"), Act::Write(GOOD)]);
    world.faults.set(|rates| rates.slow = 500);
    let task = world.task("a task");
    assert_eq!(world.run(&task).await.status, ResultStatus::Completed);
    let memory = world.store.look();
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
async fn a_panic_fails_the_attempt_and_the_worker_lives() {
    let world = World::calm(&[Act::Write(GOOD)]);
    world.repo.mishaps.lock().unwrap().push(Mishap::Panic);
    let task = world.task("a task");
    let runner = std::sync::Arc::new(world.runner(RunnerSettings::default()));
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
    assert_eq!(world.now(task.id).status, TaskStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_is_not_tried_again_at_once() {
    let world = World::calm(&[Act::Write(GOOD)]);
    world.repo.mishaps.lock().unwrap().push(Mishap::Full);
    let task = world.task("a task");
    let result = world.run(&task).await;
    assert_eq!(result.error.as_deref(), Some("no space left"));
    assert_eq!(world.now(task.id).status, TaskStatus::Pending);
    let elapsed = windlass_core::Clock::elapsed(&*world.clock);
    assert!(elapsed >= Duration::from_secs(30), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_patience_gets_it() {
    let world = World::calm(&[Act::Limited, Act::Limited, Act::Write(GOOD)]);
    let task = world.task("a task");
    assert_eq!(world.run(&task).await.status, ResultStatus::Completed);
    assert_eq!(world.now(task.id).attempt, 1);

    let world = World::calm(&[Act::Limited]);
    let task = world.task("a task");
    let result = world.run(&task).await;
    assert_eq!(result.error.as_deref(), Some("too many requests"));
    assert_eq!(world.now(task.id).status, TaskStatus::Pending);
}

#[tokio::test(start_paused = true)]
async fn a_question_of_the_agent_is_decided_through_the_store() {
    let world = World::calm(&[Act::Ask]);
    let task = world.task("a task");
    let settings = RunnerSettings {
        permissions: PermissionPolicy::Ask,
        ..RunnerSettings::default()
    };
    let decide = async {
        while world.store.look().approvals.is_empty() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        world
            .store
            .decide_approval(1, Some("yes".to_owned()))
            .await
            .unwrap();
    };
    let ((result, _), ()) = tokio::join!(world.watch(&task, settings.clone()), decide);
    assert_eq!(result.status, ResultStatus::Completed);
    let approval = world.store.look().approvals[0].clone();
    assert_eq!(approval.asked.attempt.number, 1);
    assert_eq!(approval.asked.tool, "write");

    // Nobody decides until the turn is over: the question is withdrawn.
    let task = world.task("another");
    let (result, _) = world.watch(&task, settings).await;
    assert_eq!(result.error.as_deref(), Some("Timeout"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let decision = world.store.look().approvals[1].decision.clone();
    assert_eq!(decision.unwrap().option, None);
}
