//! Many simulated runs of several workers, each from one seed.
//!
//! A seed determines everything: the tasks, the actions of the agent, the fault rates of store and
//! repository, when workers crash, pause or are asked to stop, when clocks jump, and when a person cancels or
//! answers. At the end, when all faults have stopped, every task must have exactly one outcome.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::Clock;
use windlass_runner::{AgentPoolManager, RunnerSettings, Worker};
use windlass_tasks::{Dependency, NewTask, NewWorker, ProjectId, TaskId, TaskStatus};

use super::agent::Action;
use super::check;
use super::faults::Rates;
use super::harness::Harness;
use super::interruption::{Interrupted, Interruption};
use super::repo::{GOOD, WEAK};
use super::seed_range::run_part;

/// When all faults stop.
const FAULTS_END: Duration = Duration::from_secs(900);
/// When everything must have ended; a task that still waits then never ends.
const END: Duration = Duration::from_secs(3 * 3600);

#[test]
fn p2_p3_p4_seeds_first_quarter() {
    quarter(0, "p2_p3_p4_seeds_first_quarter");
}

#[test]
fn p2_p3_p4_seeds_second_quarter() {
    quarter(1, "p2_p3_p4_seeds_second_quarter");
}

#[test]
fn p7_p8_p26_seeds_third_quarter() {
    quarter(2, "p7_p8_p26_seeds_third_quarter");
}

#[test]
fn p7_p8_p26_seeds_last_quarter() {
    quarter(3, "p7_p8_p26_seeds_last_quarter");
}

fn quarter(which: u64, test: &str) {
    run_part((which, 4), test, |seed| drop(simulate(seed, false)));
}

/// A person lets completed tasks be done again, and changes conflict.
#[test]
fn p31_seeds_of_stacked_tasks_first_half() {
    stacked_half(0, "p31_seeds_of_stacked_tasks_first_half");
}

#[test]
fn p31_seeds_of_stacked_tasks_second_half() {
    stacked_half(1, "p31_seeds_of_stacked_tasks_second_half");
}

fn stacked_half(which: u64, test: &str) {
    run_part((which, 2), test, |seed| drop(simulate(seed, true)));
}

#[test]
fn same_seed_gives_same_run() {
    for seed in 0..20 {
        assert_eq!(simulate(seed, false), simulate(seed, false), "seed {seed}");
    }
}

/// Simulates one run. Returns all status changes in order.
fn simulate(seed: u64, is_stacked: bool) -> Vec<(TaskId, TaskStatus)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(full_run(seed, is_stacked))
}

async fn full_run(seed: u64, is_stacked: bool) -> Vec<(TaskId, TaskStatus)> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let harness = Arc::new(harness(&mut rng));
    add_tasks(&harness, &mut rng, is_stacked);
    let faults_ended = Arc::new(AtomicBool::new(false));
    let stop = CancellationToken::new();
    let workers: Vec<_> = (0..rng.u32(1..4))
        .map(|number| {
            let worker = SimWorker {
                number,
                harness: Arc::clone(&harness),
                rng: rng.fork(),
                faults_ended: Arc::clone(&faults_ended),
                stop: stop.clone(),
            };
            tokio::spawn(worker.run())
        })
        .collect();
    let faults = tokio::spawn(inject_faults(
        Arc::clone(&harness),
        rng.fork(),
        Arc::clone(&faults_ended),
        is_stacked,
    ));
    while !check::all_quiet(&harness) {
        harness.clock.sleep(Duration::from_secs(5)).await;
        if harness.clock.elapsed() > FAULTS_END && !faults_ended.swap(true, Ordering::Relaxed) {
            harness.faults.set(|rates| *rates = Rates::default());
        }
        assert!(
            harness.clock.elapsed() < END,
            "some tasks never end: {:#?}",
            check::statuses(&harness)
        );
    }
    faults_ended.store(true, Ordering::Relaxed);
    harness.faults.set(|rates| *rates = Rates::default());
    faults.abort();
    stop.cancel();
    for worker in workers {
        let ended = tokio::time::timeout(Duration::from_secs(300), worker).await;
        ended
            .expect("a worker does not stop")
            .expect("a worker panicked");
    }
    if is_stacked {
        check::stacked(&harness);
    } else {
        check::all(&harness);
    }
    harness.store.memory().history.clone()
}

/// Creates the environment: the actions of the agent, and the fault rates.
fn harness(rng: &mut fastrand::Rng) -> Harness {
    let rates = Rates {
        rejected: rng.u32(0..60),
        lost: rng.u32(0..60),
        slow: rng.u32(0..30),
        unavailable: false,
    };
    let agent_rng = Mutex::new(rng.fork());
    let success_percent = rng.u32(20..90);
    let script = Arc::new(move |_: usize| {
        let mut rng = agent_rng.lock().unwrap();
        if rng.u32(0..100) < success_percent {
            return if rng.u32(0..20) == 0 {
                Action::Write(WEAK)
            } else {
                Action::Write(GOOD)
            };
        }
        match rng.u32(0..12) {
            0..5 => Action::Write("bad"),
            5 => Action::NoChange,
            6 => Action::Fail { recoverable: true },
            7 => Action::Fail { recoverable: false },
            8 => Action::Hang,
            9 => Action::Panic,
            10 => Action::EndWithoutResult,
            _ => Action::LoseSession,
        }
    });
    // A model that returns files costs more to simulate, and follows the same path afterwards.
    let tools = rng.u32(0..4) > 0;
    Harness::new(rng.u64(..), rates, script, tools)
}

fn add_tasks(harness: &Harness, rng: &mut fastrand::Rng, is_stacked: bool) {
    let spread = if is_stacked { 2 } else { 4 };
    for id in 1..=rng.i64(1..6) {
        let mut new = NewTask::new(ProjectId::from(1), format!("task {id}"));
        new.priority = rng.u8(0..5);
        new.workflow_step = rng.u8(1..16);
        if id % 3 == 0 {
            new.needs = vec!["gpu".to_owned()];
        }
        for on in 1..id {
            if rng.u32(0..spread) == 0 {
                new.dependencies.push(Dependency::Task(TaskId::from(on)));
            }
            if is_stacked && rng.u32(0..4) == 0 {
                harness
                    .repo
                    .add_conflict(TaskId::from(on), TaskId::from(id));
            }
        }
        harness.add(new);
    }
}

/// Injects faults around the workers until the faults stop.
async fn inject_faults(
    harness: Arc<Harness>,
    mut rng: fastrand::Rng,
    faults_ended: Arc<AtomicBool>,
    is_stacked: bool,
) {
    loop {
        harness
            .clock
            .sleep(Duration::from_millis(rng.u64(1..120_000)))
            .await;
        if faults_ended.load(Ordering::Relaxed) {
            return;
        }
        let now = harness.store.now();
        match rng.u32(0..6) {
            0 => harness.clock.jump(rng.i64(-3600..3600)),
            1 => {
                harness.faults.set(|rates| rates.unavailable = true);
                harness
                    .clock
                    .sleep(Duration::from_millis(rng.u64(1..60_000)))
                    .await;
                harness.faults.set(|rates| rates.unavailable = false);
            }
            2 => {
                let mut memory = harness.store.memory();
                let id = TaskId::from(rng.i64(1..=memory.rows.len() as i64));
                memory.cancel(id, now).unwrap();
            }
            3 => check::answer_one(&harness, &mut rng),
            4 if is_stacked => check::redo_one(&harness, &mut rng),
            5 => {
                // A worker is drained: its next process takes over.
                let mut memory = harness.store.memory();
                if let Some(entry) = memory.workers.last_mut() {
                    entry.drain = true;
                }
            }
            _ => {}
        }
    }
}

/// A worker that is restarted whenever it has ended.
struct SimWorker {
    number: u32,
    harness: Arc<Harness>,
    rng: fastrand::Rng,
    faults_ended: Arc<AtomicBool>,
    stop: CancellationToken,
}

impl SimWorker {
    async fn run(mut self) {
        while !self.stop.is_cancelled() {
            let (interruption, runtime) = self.next_interruption();
            let stop = self.stop.child_token();
            let worker = Worker {
                pool: AgentPoolManager::new(self.rng.usize(1..4)),
                entry: Some(self.entry()),
                ..Worker::new(Arc::new(self.harness.runner(RunnerSettings::default())))
            };
            let stop_signal = stop.clone();
            let work = Box::pin(async move { worker.run(stop_signal).await });
            let work = Interrupted::new(work, interruption);
            tokio::pin!(work);
            tokio::select! {
                biased;
                _ = &mut work => {}
                () = self.harness.clock.sleep(runtime) => {
                    stop.cancel();
                    work.await;
                }
            }
            let restart_delay = Duration::from_micros(self.rng.u64(1..30_000_000));
            self.harness.clock.sleep(restart_delay).await;
        }
    }

    /// Describes the worker. Only the first one has a label, which some tasks need.
    fn entry(&self) -> NewWorker {
        let has_gpu = self.number == 0;
        NewWorker {
            name: format!("worker {}", self.number),
            machine: "a machine".to_owned(),
            version: "0.1.0".to_owned(),
            labels: has_gpu.then(|| "gpu".to_owned()).into_iter().collect(),
            kinds: Vec::new(),
            agents: Vec::new(),
            project_id: None,
            lanes: 1,
            interval: RunnerSettings::default().heartbeat_interval(),
        }
    }

    /// Chooses when the worker crashes or pauses, and how long it runs before it is asked to stop.
    fn next_interruption(&mut self) -> (Interruption, Duration) {
        let rng = &mut self.rng;
        let mut interruption = Interruption::default();
        let mut runtime = Duration::from_secs(24 * 3600);
        if self.faults_ended.load(Ordering::Relaxed) {
            return (interruption, runtime);
        }
        if rng.u32(0..2) == 0 {
            interruption.crash = Some(rng.u32(1..600));
        }
        if rng.u32(0..3) == 0 {
            interruption.pause = Some((
                rng.u32(1..300),
                Duration::from_micros(rng.u64(1..90_000_000)),
            ));
        }
        if rng.u32(0..5) == 0 {
            runtime = Duration::from_micros(rng.u64(1..300_000_000));
        }
        (interruption, runtime)
    }
}
