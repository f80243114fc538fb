//! Landing with crashes: many simulated runs of several workers, each from one seed.
//!
//! A commit of the branch is a list of changes. Some pairs of first changes are red together. Workers crash and pause
//! between any two polls, the store loses replies, and a person moves the branch. The branch never moves to a list that
//! was not tested green, and no change lands twice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::{Clock, Timestamp, Usage};
use windlass_runner::{Lander, LandingSettings, RunnerSettings};
use windlass_tasks::{
    AttemptRef, Claim, Dependency, NewTask, Outcome, ProjectId, Proof, TaskId, TaskStatus,
    TestCounts,
};

use super::agent::Action;
use super::branch::{Branch, PairTests, SimSite};
use super::faults::Rates;
use super::harness::Harness;
use super::interruption::{Interrupted, Interruption};
use super::seed_range::run_part;

const FAULTS_END: Duration = Duration::from_secs(600);
const END: Duration = Duration::from_secs(3 * 3600);

#[test]
fn p30_landing_seeds_first_half() {
    run_part((0, 2), "p30_landing_seeds_first_half", simulate);
}

#[test]
fn p30_landing_seeds_second_half() {
    run_part((1, 2), "p30_landing_seeds_second_half", simulate);
}

fn simulate(seed: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(full_run(seed));
}

fn change_name(attempt: AttemptRef) -> String {
    format!("task {} attempt {}", attempt.task, attempt.number)
}

/// Does what workers and agents do: completes every task that can be claimed, each with its own change.
pub(crate) fn complete_all(harness: &Harness) {
    let now = harness.store.now();
    let mut memory = harness.store.memory();
    let claim = Claim {
        worker: "agent".to_owned(),
        lease: Duration::from_secs(1),
        ..Claim::default()
    };
    while let Some(claimed) = memory.claim(&claim, now) {
        let commit = change_name(claimed.attempt);
        let proof = Proof {
            base_parts: Vec::new(),
            base: "an old base".to_owned(),
            tree: commit.clone(),
            commit,
            command: vec!["check".to_owned()],
            part: None,
            exit_code: 0,
            counts: TestCounts::default(),
            log_sha256: String::new(),
            duration_ms: 1,
            setup: Vec::new(),
            cases: None,
            baseline: None,
            base_tests: None,
            lines: None,
            warnings: Vec::new(),
            at: Timestamp(1),
        };
        let outcome = Outcome::Completed {
            proof: Some(Box::new(proof)),
            branch: None,
            output: String::new(),
        };
        memory
            .finish(claimed.attempt, outcome, &Usage::default(), now)
            .unwrap();
    }
}

/// Adds tasks that land. Returns pairs of changes that are green alone and red together.
fn add_landing_tasks(harness: &Harness, rng: &mut fastrand::Rng) -> BTreeSet<(String, String)> {
    let count = rng.i64(2..7);
    let mut bad = BTreeSet::new();
    for id in 1..=count {
        let mut new = NewTask::new(ProjectId::from(1), format!("task {id}"));
        new.land = true;
        new.max_attempts = 100;
        if id > 1 && rng.u32(0..4) == 0 {
            new.dependencies = vec![Dependency::Task(TaskId::from(rng.i64(1..id)))];
        }
        if id > 1 && rng.u32(0..3) == 0 {
            let other = rng.i64(1..id);
            bad.insert((
                format!("task {other} attempt 1"),
                format!("task {id} attempt 1"),
            ));
        }
        harness.add(new);
    }
    bad
}

async fn full_run(seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let rates = Rates {
        rejected: rng.u32(0..60),
        lost: rng.u32(0..60),
        slow: rng.u32(0..30),
        unavailable: false,
    };
    let script = Arc::new(|_: usize| Action::NoChange);
    let harness = Arc::new(Harness::new(rng.u64(..), rates, script, true));
    let bad = add_landing_tasks(&harness, &mut rng);
    let branch = Branch::new(&harness, bad);
    let stop = CancellationToken::new();
    let workers: Vec<_> = (0..rng.u32(1..4))
        .map(|_| {
            tokio::spawn(work(
                Arc::clone(&harness),
                Arc::clone(&branch),
                rng.fork(),
                stop.clone(),
            ))
        })
        .collect();
    loop {
        complete_all(&harness);
        let is_landed = {
            let memory = harness.store.memory();
            memory.rows.values().all(|row| row.task.landed.is_some())
        };
        if is_landed {
            break;
        }
        if harness.clock.elapsed() > FAULTS_END {
            harness.faults.set(|rates| *rates = Rates::default());
        } else if rng.u32(0..20) == 0 {
            branch.commit_by_hand();
        }
        let landings = harness.store.memory().landings.clone();
        assert!(
            harness.clock.elapsed() < END,
            "some changes never land: {landings:#?}"
        );
        harness.clock.sleep(Duration::from_secs(3)).await;
    }
    stop.cancel();
    for worker in workers {
        let ended = tokio::time::timeout(Duration::from_secs(600), worker).await;
        ended
            .expect("a worker does not stop")
            .expect("a worker panicked");
    }
    check(&harness, &branch);
}

/// Lands until it is stopped; it is restarted whenever it has crashed.
async fn work(
    harness: Arc<Harness>,
    branch: Arc<Branch>,
    mut rng: fastrand::Rng,
    stop: CancellationToken,
) {
    while !stop.is_cancelled() {
        let mut runner = harness.runner(RunnerSettings::default());
        runner.verifier = Arc::new(PairTests(Arc::clone(&branch)));
        let lander = Lander {
            runner: Arc::new(runner),
            site: Arc::new(SimSite(Arc::clone(&branch))),
            settings: LandingSettings {
                batch: rng.u32(1..5),
                max_returns: 100,
                ..LandingSettings::default()
            },
            project: None,
        };
        let mut interruption = Interruption::default();
        if harness.clock.elapsed() < FAULTS_END {
            if rng.u32(0..2) == 0 {
                interruption.crash = Some(rng.u32(1..200));
            }
            if rng.u32(0..3) == 0 {
                let pause = Duration::from_micros(rng.u64(1..90_000_000));
                interruption.pause = Some((rng.u32(1..100), pause));
            }
        }
        let (clock, stop) = (Arc::clone(&harness.clock), stop.clone());
        let land = Box::pin(async move {
            while !stop.is_cancelled() {
                // Errors of the store are retried.
                let _ = lander.enqueue_due().await;
                let _ = lander.land_next(&[], &stop).await;
                clock.sleep(Duration::from_secs(2)).await;
            }
        });
        Interrupted::new(land, interruption).await;
        let restart = Duration::from_micros(rng.u64(1..30_000_000));
        harness.clock.sleep(restart).await;
    }
}

fn check(harness: &Harness, branch: &Branch) {
    let memory = harness.store.memory();
    let history = branch.history.lock().unwrap();
    let last = branch.changes(history.last().unwrap());
    for row in memory.rows.values() {
        let task = &row.task;
        assert_eq!(task.status, TaskStatus::Completed);
        let landed = task.landed.as_ref().unwrap();
        let name = change_name(AttemptRef {
            task: task.id,
            number: task.attempt,
        });
        assert!(
            last.contains(&name),
            "{name} is recorded as landed, but is not on the branch"
        );
        let is_on_branch = history.contains(&landed.commit) || landed.commit == name;
        assert!(is_on_branch, "task {}: {}", task.id, landed.commit);
        let of_task = format!("task {} ", task.id);
        let changes = last.iter().filter(|change| change.starts_with(&of_task));
        assert_eq!(changes.count(), 1, "task {} landed more than once", task.id);
        let at = |name: &String| last.iter().position(|change| change == name);
        for on in &task.dependencies {
            let on = change_name(AttemptRef {
                task: *on,
                number: memory.rows[on].task.attempt,
            });
            assert!(at(&on) < at(&name), "{on} landed after {name}");
        }
    }
}
