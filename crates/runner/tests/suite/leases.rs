//! Workers that die, stand still, lose their store, or are told to stop.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::task::{NewTask, TaskStatus};
use windlass_core::{Clock, TaskStore};
use windlass_runner::{ResultStatus, RunnerSettings, StopSignals, Worker};

use super::sim::agent::Act;
use super::sim::check;
use super::sim::fate::{Fated, Plan};
use super::sim::place::GOOD;
use super::sim::world::World;

fn worker(world: &World, once: bool) -> Worker {
    Worker {
        once,
        ..Worker::new(Arc::new(world.runner(RunnerSettings::default())))
    }
}

#[tokio::test(start_paused = true)]
async fn p2_another_worker_takes_over_within_lease_and_sweep() {
    let world = World::calm(&[Act::Hang, Act::Write(GOOD)]);
    let task = world.task("a task");
    let first = worker(&world, false);
    let first = tokio::spawn(async move { first.run(CancellationToken::new()).await });
    let stop = CancellationToken::new();
    let second = worker(&world, false);
    while world.prompts().is_empty() {
        world.clock.sleep(Duration::from_millis(100)).await;
    }
    let told = stop.clone();
    let second = tokio::spawn(async move { second.run(told).await });
    world.clock.sleep(Duration::from_secs(75)).await;
    first.abort();
    let died = world.clock.elapsed();
    while world.now(task.id).attempt == 1 {
        world.clock.sleep(Duration::from_millis(10)).await;
    }
    let taken = world.clock.elapsed() - died;
    assert!(taken <= Duration::from_secs(36), "{taken:?}");
    while world.now(task.id).status != TaskStatus::Completed {
        world.clock.sleep(Duration::from_millis(100)).await;
    }
    stop.cancel();
    second.await.unwrap().unwrap();
    check::all(&world);
}

#[tokio::test(start_paused = true)]
async fn p3_a_worker_that_stood_still_changes_nothing_and_says_superseded() {
    // At every step of its life in turn, for longer than its lease.
    for step in 1..120 {
        let world = World::calm(&[Act::Write(GOOD)]);
        let task = world.task("a task");
        let still = world.runner(RunnerSettings::default());
        let work = Box::pin(async move {
            let taken = still.claim_task(still.next_claim()).await.unwrap()?;
            Some(still.run_attempt(taken, StopSignals::default()).await)
        });
        let plan = Plan {
            pause: Some((step, Duration::from_secs(300))),
            ..Plan::default()
        };
        let still = tokio::spawn(Fated::new(work, plan));
        world.clock.sleep(Duration::from_secs(2)).await;
        let other = worker(&world, false);
        let stop = CancellationToken::new();
        let told = stop.clone();
        let other = tokio::spawn(async move { other.run(told).await });
        let result = still.await.unwrap().unwrap();
        while world.now(task.id).status != TaskStatus::Completed {
            world.clock.sleep(Duration::from_secs(1)).await;
        }
        stop.cancel();
        let report = other.await.unwrap().unwrap();
        let others = report.count(ResultStatus::Completed);
        let expected = match result.as_ref().map(|result| result.status) {
            Some(ResultStatus::Completed) => 0,
            // It was superseded, or so late that the task was gone before it could take it.
            Some(ResultStatus::Superseded) | None => 1,
            Some(status) => panic!("step {step}: {status}"),
        };
        assert!(
            others <= 1 && others >= expected,
            "step {step}: {others} {result:?}"
        );
        check::all(&world);
    }
}

#[tokio::test(start_paused = true)]
async fn p4_a_crash_at_any_step_publishes_at_most_once() {
    let mut completed_by_recovery = 0;
    for step in 1..2000 {
        let world = World::calm(&[
            Act::Write("bad"),
            Act::Write(GOOD),
            Act::Write(GOOD),
            Act::Write(GOOD),
        ]);
        let task = world.task("a task");
        let first = worker(&world, true);
        let plan = Plan {
            crash: Some(step),
            ..Plan::default()
        };
        let work = Box::pin(async move { first.run(CancellationToken::new()).await });
        let ended = Fated::new(work, plan).await;
        let asked = world.prompts().len();
        world.clock.sleep(Duration::from_secs(31)).await;
        worker(&world, true)
            .run(CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(
            world.now(task.id).status,
            TaskStatus::Completed,
            "step {step}"
        );
        assert_eq!(world.repo.published.lock().unwrap().len(), 1, "step {step}");
        check::all(&world);
        if ended.is_none() && world.now(task.id).attempt == 2 && world.prompts().len() == asked {
            completed_by_recovery += 1;
            // Somebody who wants it done again has it done again.
            world.store.retry(task.id).await.unwrap();
            worker(&world, true)
                .run(CancellationToken::new())
                .await
                .unwrap();
            assert_eq!(world.now(task.id).status, TaskStatus::Completed);
            assert!(
                world.prompts().len() > asked,
                "step {step}: nobody was asked"
            );
        }
        if ended.is_some() {
            assert!(
                completed_by_recovery > 0,
                "no crash fell between publishing and saying so"
            );
            return;
        }
    }
    panic!("the worker takes more steps than were tried");
}

#[tokio::test(start_paused = true)]
async fn p4_a_last_attempt_that_published_and_died_is_completed_by_a_retry() {
    let mut completed_by_recovery = 0;
    for step in 1..2000 {
        let world = World::calm(&[Act::Write(GOOD), Act::Write(GOOD)]);
        let task = world.add(NewTask {
            max_attempts: 1,
            ..NewTask::new(1, "a task")
        });
        let first = worker(&world, true);
        let plan = Plan {
            crash: Some(step),
            ..Plan::default()
        };
        let work = Box::pin(async move { first.run(CancellationToken::new()).await });
        if Fated::new(work, plan).await.is_some() {
            assert!(
                completed_by_recovery > 0,
                "no crash fell between publishing and saying so"
            );
            return;
        }
        let asked = world.prompts().len();
        let published = world.repo.published.lock().unwrap().len();
        world.clock.sleep(Duration::from_secs(31)).await;
        let again = || async { worker(&world, true).run(CancellationToken::new()).await };
        again().await.unwrap();
        check::all(&world);
        if world.now(task.id).status == TaskStatus::Failed {
            world.store.retry(task.id).await.unwrap();
            again().await.unwrap();
            if published == 1 {
                assert_eq!(world.prompts().len(), asked, "step {step}: asked again");
                completed_by_recovery += 1;
            }
        }
        let now = world.now(task.id).status;
        assert_eq!(now, TaskStatus::Completed, "step {step}");
        assert_eq!(world.repo.published.lock().unwrap().len(), 1, "step {step}");
    }
    panic!("the worker takes more steps than were tried");
}

/// A worker that stands still at this step for so long, beside one that does not.
async fn beside(step: u32, still: Duration) -> (World, [tokio::task::JoinHandle<()>; 2]) {
    let world = World::calm(&[Act::Write(GOOD)]);
    world.task("a task");
    let runner = world.runner(RunnerSettings::default());
    let work = Box::pin(async move {
        let taken = runner
            .claim_task(runner.next_claim())
            .await
            .unwrap()
            .unwrap();
        runner.run_attempt(taken, StopSignals::default()).await;
    });
    let plan = Plan {
        pause: Some((step, still)),
        ..Plan::default()
    };
    let first = tokio::spawn(async move {
        Fated::new(work, plan).await;
    });
    world.clock.sleep(Duration::from_secs(1)).await;
    let other = worker(&world, true);
    let second = tokio::spawn(async move {
        // It lives until the task has ended, whoever ends it.
        for _ in 0..40 {
            other.run(CancellationToken::new()).await.unwrap();
            other.runner.clock.sleep(Duration::from_secs(5)).await;
        }
    });
    (world, [first, second])
}

#[tokio::test(start_paused = true)]
async fn p4_a_publisher_that_wakes_while_another_begins() {
    let day = Duration::from_secs(24 * 3600);
    // The step between the intent and the publishing, and how long after it another attempt begins.
    let mut found = None;
    for step in 1..400 {
        let (world, workers) = beside(step, day).await;
        let mut intended = None;
        while world.now(1).attempt < 2 && !world.now(1).status.is_final() {
            world.clock.sleep(Duration::from_millis(20)).await;
            if intended.is_none() && !world.store.look().row(1).unwrap().intents.is_empty() {
                intended = Some(world.clock.elapsed());
            }
        }
        let is_between = world.repo.published.lock().unwrap().is_empty();
        workers.iter().for_each(|worker| worker.abort());
        if let Some(intended) = intended.filter(|_| is_between) {
            found = Some((step, world.clock.elapsed() - intended));
            break;
        }
    }
    let (step, after) = found.expect("no step lies between intent and publishing");
    for shift in 0..150 {
        let still = after + Duration::from_millis(shift * 2) - Duration::from_millis(60);
        let (world, [first, second]) = beside(step, still).await;
        first.await.unwrap();
        second.await.unwrap();
        assert_eq!(world.now(1).status, TaskStatus::Completed, "shift {shift}");
        check::all(&world);
    }
}

#[tokio::test(start_paused = true)]
async fn p7_stop_is_gentle_then_firm() {
    // An agent that hangs is given back after the grace; one that is nearly done ends.
    let world = World::calm(&[Act::Hang]);
    let task = world.task("a task");
    let late = world.task("another");
    let stop = CancellationToken::new();
    let told = stop.clone();
    let mut one = worker(&world, false);
    one.pool = windlass_runner::AgentPoolManager::new(1);
    let running = tokio::spawn(async move { one.run(told).await });
    world.clock.sleep(Duration::from_secs(60)).await;
    stop.cancel();
    let began = world.clock.elapsed();
    let report = running.await.unwrap().unwrap();
    let took = world.clock.elapsed() - began;
    assert!((20..22).contains(&took.as_secs()), "{took:?}");
    assert_eq!(report.count(ResultStatus::Released), 1);
    assert_eq!(world.now(task.id).status, TaskStatus::Pending);
    assert_eq!(
        world.store.look().row(task.id).unwrap().used,
        0,
        "the attempt was used up"
    );
    assert_eq!(
        world.now(late.id).attempt,
        0,
        "a task was taken while stopping"
    );
}

#[tokio::test(start_paused = true)]
async fn p7_what_is_nearly_done_is_done() {
    let world = World::calm(&[Act::Write(GOOD)]);
    let task = world.task("a task");
    let stop = CancellationToken::new();
    let told = stop.clone();
    let one = worker(&world, false);
    let running = tokio::spawn(async move { one.run(told).await });
    while *world.repo.runs.lock().unwrap() == 0 {
        world.clock.sleep(Duration::from_millis(100)).await;
    }
    stop.cancel();
    let report = running.await.unwrap().unwrap();
    assert_eq!(report.count(ResultStatus::Completed), 1);
    assert_eq!(world.now(task.id).status, TaskStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn p8_a_clock_that_jumps_neither_loses_nor_doubles_work() {
    for jump in [-3600, 3600] {
        let world = World::calm(&[Act::Write("bad"), Act::Write(GOOD)]);
        let task = world.task("a task");
        let jumps = async {
            for _ in 0..30 {
                world.clock.sleep(Duration::from_secs(1)).await;
                world.clock.jump(jump / 10);
            }
        };
        let (result, ()) = tokio::join!(world.run(&task), jumps);
        assert_eq!(result.status, ResultStatus::Completed);
        assert_eq!(world.now(task.id).attempt, 1);
        check::all(&world);
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_whose_store_is_away_stops_before_its_lease_runs_out() {
    let world = World::calm(&[Act::Hang]);
    let task = world.task("a task");
    let away = async {
        world.clock.sleep(Duration::from_secs(45)).await;
        world.faults.set(|rates| rates.away = true);
        world.clock.elapsed()
    };
    let (result, gone) = tokio::join!(world.run(&task), away);
    assert_eq!(result.status, ResultStatus::Superseded);
    assert!(
        result.error.unwrap().starts_with("superseded"),
        "it must say so"
    );
    let took = world.clock.elapsed() - gone;
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert_eq!(
        world.now(task.id).status,
        TaskStatus::InProgress,
        "nothing could be written"
    );
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_for_a_moment_costs_nothing() {
    let world = World::calm(&[Act::Write("bad"), Act::Write(GOOD)]);
    let task = world.task("a task");
    let away = async {
        world.clock.sleep(Duration::from_secs(8)).await;
        world.faults.set(|rates| rates.away = true);
        world.clock.sleep(Duration::from_secs(2)).await;
        world.faults.set(|rates| rates.away = false);
    };
    let (result, ()) = tokio::join!(world.run(&task), away);
    assert_eq!(result.status, ResultStatus::Completed, "{result:?}");
}
