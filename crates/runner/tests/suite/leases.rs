//! Workers that crash, pause, lose their store, or are asked to stop.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use windlass_core::Clock;
use windlass_runner::{
    AgentPoolManager, Error, Lander, LandingSettings, ResultStatus, RunnerSettings, StopSignals,
    Worker, WorkerReport,
};
use windlass_tasks::{LandingState, NewTask, ProjectId, TaskQueue, TaskStatus};

use super::sim::agent::Action;
use super::sim::branch::{Branch, PairTests, SimSite};
use super::sim::check;
use super::sim::harness::Harness;
use super::sim::interruption::{Interrupted, Interruption};
use super::sim::landing::complete_all;
use super::sim::repo::GOOD;
use super::workers::entry;

pub(super) fn worker(harness: &Harness, once: bool) -> Worker {
    Worker {
        once,
        ..Worker::new(Arc::new(harness.runner(RunnerSettings::default())))
    }
}

#[tokio::test(start_paused = true)]
async fn p2_another_worker_takes_over_within_lease_and_reclaim_interval() {
    let harness = Harness::with_actions(&[Action::Hang, Action::Write(GOOD)]);
    let task = harness.add_task("a task");
    let first = worker(&harness, false);
    let first = tokio::spawn(async move { first.run(CancellationToken::new()).await });
    let stop = CancellationToken::new();
    let second = worker(&harness, false);
    while harness.prompts().is_empty() {
        harness.clock.sleep(Duration::from_millis(100)).await;
    }
    let stop_signal = stop.clone();
    let second = tokio::spawn(async move { second.run(stop_signal).await });
    harness.clock.sleep(Duration::from_secs(75)).await;
    first.abort();
    let crashed_at = harness.clock.elapsed();
    while harness.task(task.id).attempt == 1 {
        harness.clock.sleep(Duration::from_millis(10)).await;
    }
    let takeover = harness.clock.elapsed() - crashed_at;
    assert!(takeover <= Duration::from_secs(36), "{takeover:?}");
    while harness.task(task.id).status != TaskStatus::Completed {
        harness.clock.sleep(Duration::from_millis(100)).await;
    }
    stop.cancel();
    second.await.unwrap().unwrap();
    check::all(&harness);
}

#[tokio::test(start_paused = true)]
async fn worker_claims_immediately_after_an_attempt_ends() {
    let harness = Harness::with_actions(&[Action::Hang]);
    let task = harness.add_task("a task");
    let settings = RunnerSettings {
        sweep: Duration::from_secs(3600),
        ..RunnerSettings::default()
    };
    let worker = Worker {
        once: true,
        ..Worker::new(Arc::new(harness.runner(settings)))
    };
    let run = tokio::spawn(async move { worker.run(CancellationToken::new()).await });
    while harness.prompts().is_empty() {
        harness.clock.sleep(Duration::from_millis(100)).await;
    }
    let started = harness.clock.elapsed();
    harness.store.cancel(task.id).await.unwrap();
    let report = run.await.unwrap().unwrap();
    assert_eq!(report.count(ResultStatus::Cancelled), 1);
    let elapsed = harness.clock.elapsed() - started;
    assert!(elapsed < Duration::from_secs(60), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn p3_paused_worker_changes_nothing_and_reports_superseded() {
    // Paused at each step in turn, for longer than its lease.
    for step in 1..120 {
        let harness = Harness::with_actions(&[Action::Write(GOOD)]);
        let task = harness.add_task("a task");
        let runner = harness.runner(RunnerSettings::default());
        let work = Box::pin(async move {
            let claimed = runner.claim_task(runner.next_claim()).await.unwrap()?;
            Some(runner.run_attempt(claimed, StopSignals::default()).await)
        });
        let interruption = Interruption {
            pause: Some((step, Duration::from_secs(300))),
            ..Interruption::default()
        };
        let paused = tokio::spawn(Interrupted::new(work, interruption));
        harness.clock.sleep(Duration::from_secs(2)).await;
        let other = worker(&harness, false);
        let stop = CancellationToken::new();
        let stop_signal = stop.clone();
        let other = tokio::spawn(async move { other.run(stop_signal).await });
        let result = paused.await.unwrap().unwrap();
        while harness.task(task.id).status != TaskStatus::Completed {
            harness.clock.sleep(Duration::from_secs(1)).await;
        }
        stop.cancel();
        let report = other.await.unwrap().unwrap();
        let completed_by_other = report.count(ResultStatus::Completed);
        let expected = match result.as_ref().map(|result| result.status) {
            Some(ResultStatus::Completed) => 0,
            // The attempt was superseded, or the task was completed before the worker could claim it.
            Some(ResultStatus::Superseded) | None => 1,
            Some(status) => panic!("step {step}: {status}"),
        };
        assert!(
            completed_by_other <= 1 && completed_by_other >= expected,
            "step {step}: {completed_by_other} {result:?}"
        );
        check::all(&harness);
    }
}

#[tokio::test(start_paused = true)]
async fn p7_stop_is_graceful_then_forced() {
    // An attempt whose agent hangs is released after the grace period.
    let harness = Harness::with_actions(&[Action::Hang]);
    let task = harness.add_task("a task");
    let late = harness.add_task("another");
    let stop = CancellationToken::new();
    let stop_signal = stop.clone();
    let mut one = worker(&harness, false);
    one.pool = AgentPoolManager::new(1);
    let running = tokio::spawn(async move { one.run(stop_signal).await });
    harness.clock.sleep(Duration::from_secs(60)).await;
    stop.cancel();
    let stopped_at = harness.clock.elapsed();
    let report = running.await.unwrap().unwrap();
    let took = harness.clock.elapsed() - stopped_at;
    assert!((20..22).contains(&took.as_secs()), "{took:?}");
    assert_eq!(report.count(ResultStatus::Released), 1);
    assert_eq!(harness.task(task.id).status, TaskStatus::Pending);
    assert_eq!(
        harness.store.memory().row(task.id).unwrap().used,
        0,
        "the attempt counts towards the limit"
    );
    assert_eq!(
        harness.task(late.id).attempt,
        0,
        "a task was claimed while stopping"
    );
}

#[tokio::test(start_paused = true)]
async fn p7_attempt_that_ends_within_grace_period_completes() {
    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    let task = harness.add_task("a task");
    let stop = CancellationToken::new();
    let stop_signal = stop.clone();
    let one = worker(&harness, false);
    let running = tokio::spawn(async move { one.run(stop_signal).await });
    while *harness.repo.runs.lock().unwrap() == 0 {
        harness.clock.sleep(Duration::from_millis(100)).await;
    }
    stop.cancel();
    let report = running.await.unwrap().unwrap();
    assert_eq!(report.count(ResultStatus::Completed), 1);
    assert_eq!(harness.task(task.id).status, TaskStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn p8_clock_jump_neither_loses_nor_repeats_work() {
    for jump in [-3600, 3600] {
        let harness = Harness::with_actions(&[Action::Write("bad"), Action::Write(GOOD)]);
        let task = harness.add_task("a task");
        let jumps = async {
            for _ in 0..30 {
                harness.clock.sleep(Duration::from_secs(1)).await;
                harness.clock.jump(jump / 10);
            }
        };
        let (result, ()) = tokio::join!(harness.run(&task), jumps);
        assert_eq!(result.status, ResultStatus::Completed);
        assert_eq!(harness.task(task.id).attempt, 1);
        check::all(&harness);
    }
}

#[tokio::test(start_paused = true)]
async fn worker_without_store_stops_before_lease_expires() {
    let harness = Harness::with_actions(&[Action::Hang]);
    let task = harness.add_task("a task");
    let outage = async {
        harness.clock.sleep(Duration::from_secs(45)).await;
        harness.faults.set(|rates| rates.unavailable = true);
        harness.clock.elapsed()
    };
    let (result, outage_start) = tokio::join!(harness.run(&task), outage);
    assert_eq!(result.status, ResultStatus::Superseded);
    assert!(
        result.error.unwrap().starts_with("superseded"),
        "the error must say so"
    );
    let took = harness.clock.elapsed() - outage_start;
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert_eq!(
        harness.task(task.id).status,
        TaskStatus::InProgress,
        "nothing could be written"
    );
}

#[tokio::test(start_paused = true)]
async fn short_store_outage_does_not_fail_attempt() {
    let harness = Harness::with_actions(&[Action::Write("bad"), Action::Write(GOOD)]);
    let task = harness.add_task("a task");
    let outage = async {
        harness.clock.sleep(Duration::from_secs(8)).await;
        harness.faults.set(|rates| rates.unavailable = true);
        harness.clock.sleep(Duration::from_secs(2)).await;
        harness.faults.set(|rates| rates.unavailable = false);
    };
    let (result, ()) = tokio::join!(harness.run(&task), outage);
    assert_eq!(result.status, ResultStatus::Completed, "{result:?}");
}

/// Starts a worker. The second value stops it.
fn start(worker: Worker) -> (JoinHandle<Result<WorkerReport, Error>>, CancellationToken) {
    let stop = CancellationToken::new();
    let stop_signal = stop.clone();
    (
        tokio::spawn(async move { worker.run(stop_signal).await }),
        stop,
    )
}

/// Returns the report of a worker that was stopped.
async fn ended(running: JoinHandle<Result<WorkerReport, Error>>) -> WorkerReport {
    let ended = tokio::time::timeout(Duration::from_secs(3600), running).await;
    ended.expect("the worker does not end").unwrap().unwrap()
}

fn set_unreachable(harness: &Harness, is_unreachable: bool) {
    let switch = &harness.store.is_unreachable;
    switch.store(is_unreachable, Ordering::Relaxed);
}

#[tokio::test(start_paused = true)]
async fn p7_stopped_worker_gives_up_the_end_of_an_attempt_that_the_store_does_not_take() {
    let actions = [Action::Write("bad"), Action::Hang, Action::Write(GOOD)];
    let harness = Harness::with_actions(&actions);
    let task = harness.add_task("a task");
    let (running, stop) = start(worker(&harness, false));
    while harness.prompts().len() < 2 {
        harness.clock.sleep(Duration::from_millis(100)).await;
    }
    set_unreachable(&harness, true);
    stop.cancel();
    let report = ended(running).await;
    let (_, result) = &report.results[0];
    assert_eq!(result.status, ResultStatus::Superseded);
    let error = result.error.as_ref().unwrap();
    assert!(
        error.contains("another worker does the task again"),
        "{error}"
    );
    assert_eq!(harness.task(task.id).status, TaskStatus::InProgress);
    // Nothing is lost: the next worker continues with the change.
    set_unreachable(&harness, false);
    let (running, stop) = start(worker(&harness, false));
    while harness.task(task.id).status != TaskStatus::Completed {
        harness.clock.sleep(Duration::from_millis(100)).await;
    }
    stop.cancel();
    ended(running).await;
    assert!(
        harness
            .store
            .memory()
            .row(task.id)
            .unwrap()
            .changes
            .contains_key(&1)
    );
    check::all(&harness);
}

#[tokio::test(start_paused = true)]
async fn p7_worker_stops_while_it_cleans_up() {
    let harness = Harness::with_actions(&[]);
    set_unreachable(&harness, true);
    let (running, stop) = start(worker(&harness, false));
    harness.clock.sleep(Duration::from_secs(60)).await;
    assert!(!running.is_finished());
    stop.cancel();
    assert_eq!(ended(running).await, WorkerReport::default());
}

#[tokio::test(start_paused = true)]
async fn p7_worker_stops_while_the_store_does_not_answer_its_claim() {
    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    let one = Worker {
        entry: Some(entry(&[])),
        ..worker(&harness, false)
    };
    let (running, stop) = start(one);
    harness.clock.sleep(Duration::from_secs(1)).await;
    set_unreachable(&harness, true);
    // Longer than the pause between two claims.
    harness.clock.sleep(Duration::from_secs(60)).await;
    stop.cancel();
    assert_eq!(ended(running).await.results.len(), 0);
}

/// Returns a worker that lands changes on the branch.
fn landing_worker(harness: &Harness, branch: &Arc<Branch>) -> Worker {
    let mut runner = harness.runner(RunnerSettings::default());
    runner.verifier = Arc::new(PairTests(Arc::clone(branch)));
    let lander = Lander {
        runner: Arc::new(runner),
        site: Arc::new(SimSite(Arc::clone(branch))),
        settings: LandingSettings::default(),
        project: None,
    };
    Worker {
        lander: Some(lander),
        ..worker(harness, false)
    }
}

#[tokio::test(start_paused = true)]
async fn p7_worker_stops_while_it_looks_for_landings() {
    let harness = Harness::with_actions(&[]);
    let branch = Branch::new(&harness, BTreeSet::new());
    let mut one = landing_worker(&harness, &branch);
    // Others use the pool: no claim waits for the store.
    one.pool = AgentPoolManager::new(1);
    let _slot = one.pool.try_acquire().unwrap();
    let (running, stop) = start(one);
    harness.clock.sleep(Duration::from_secs(1)).await;
    set_unreachable(&harness, true);
    harness.clock.sleep(Duration::from_secs(60)).await;
    stop.cancel();
    let stopped_at = harness.clock.elapsed();
    assert_eq!(ended(running).await.landings.len(), 0);
    let took = harness.clock.elapsed() - stopped_at;
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn p7_stopped_worker_gives_up_a_landing_that_it_cannot_put_back() {
    let harness = Harness::with_actions(&[]);
    let branch = Branch::new(&harness, BTreeSet::new());
    let task = harness.add(NewTask {
        land: true,
        ..NewTask::new(ProjectId::from(1), "a task")
    });
    complete_all(&harness);
    let is_landing = || {
        let memory = harness.store.memory();
        let mut landings = memory.landings.iter();
        landings.any(|entry| entry.landing.state == LandingState::Landing)
    };
    let (running, stop) = start(landing_worker(&harness, &branch));
    while !is_landing() {
        harness.clock.sleep(Duration::from_millis(1)).await;
    }
    set_unreachable(&harness, true);
    stop.cancel();
    assert_eq!(ended(running).await.landings.len(), 0);
    assert!(is_landing());
    // Its lease expires, and another worker lands the change.
    set_unreachable(&harness, false);
    let (running, stop) = start(landing_worker(&harness, &branch));
    while harness.task(task.id).landed.is_none() {
        harness.clock.sleep(Duration::from_millis(100)).await;
    }
    stop.cancel();
    ended(running).await;
}

#[tokio::test(start_paused = true)]
async fn p7_task_that_is_claimed_while_the_worker_stops_is_given_back() {
    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    let task = harness.add_task("a task");
    let (running, stop) = start(worker(&harness, false));
    // The claim is granted, and its answer is on the way.
    while harness.task(task.id).status != TaskStatus::InProgress {
        harness.clock.sleep(Duration::from_micros(100)).await;
    }
    stop.cancel();
    assert_eq!(ended(running).await.results.len(), 0);
    assert_eq!(harness.prompts().len(), 0);
    assert_eq!(harness.task(task.id).status, TaskStatus::Pending);
    let used = harness.store.memory().row(task.id).unwrap().used;
    assert_eq!(used, 0, "the attempt counts towards the limit");
}
