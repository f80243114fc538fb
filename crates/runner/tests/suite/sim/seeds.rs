//! Many lives of many workers, each from one seed.
//!
//! A seed decides everything: the tasks, what their agent does, how often the store and the repository fail, when workers
//! crash, stand still or are told to stop, when clocks jump and when a person cancels or answers. In the end, when all
//! has healed, every task must have come to exactly one end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::Clock;
use windlass_core::task::{Dependency, NewTask, TaskStatus};
use windlass_runner::{AgentPoolManager, RunnerSettings, Worker};

use super::agent::Act;
use super::check;
use super::fate::{Fated, Plan};
use super::faults::Rates;
use super::place::{GOOD, WEAK};
use super::world::World;

/// How many lives the suite looks at.
const SEEDS: u64 = 1000;
/// When everything heals.
const HEAL: Duration = Duration::from_secs(900);
/// When everything must have ended: whoever still waits then waits for nothing.
const END: Duration = Duration::from_secs(3 * 3600);

#[test]
fn p2_p3_p4_seeds_first_quarter() {
    quarter(0);
}

#[test]
fn p2_p3_p4_seeds_second_quarter() {
    quarter(1);
}

#[test]
fn p7_p8_p26_seeds_third_quarter() {
    quarter(2);
}

#[test]
fn p7_p8_p26_seeds_last_quarter() {
    quarter(3);
}

/// A fourth of all seeds, which are the same in every run. With `WINDLASS_LIFE` that one alone; with `WINDLASS_LIVES`
/// so many in all.
fn quarter(which: u64) {
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        Some(
            text.parse::<u64>()
                .unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        )
    };
    let size = number("WINDLASS_LIVES").unwrap_or(SEEDS).div_ceil(4);
    let seeds = match number("WINDLASS_LIFE") {
        Some(life) => life..life + 1,
        None => which * size..(which + 1) * size,
    };
    for seed in seeds {
        let lived = std::panic::catch_unwind(|| live(seed));
        if let Err(panic) = lived {
            eprintln!(
                "seed {seed} failed; see it again with\n    \
                 WINDLASS_LIFE={seed} cargo nextest run -p windlass-runner first_quarter"
            );
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn the_same_seed_is_the_same_life() {
    for seed in 0..20 {
        assert_eq!(live(seed), live(seed), "seed {seed}");
    }
}

/// One life. Gives all that became of its tasks, in order.
fn live(seed: u64) -> Vec<(i64, TaskStatus)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(story(seed))
}

async fn story(seed: u64) -> Vec<(i64, TaskStatus)> {
    let mut dice = fastrand::Rng::with_seed(seed);
    let world = Arc::new(world(&mut dice));
    tasks(&world, &mut dice);
    let healed = Arc::new(AtomicBool::new(false));
    let stop = CancellationToken::new();
    let workers: Vec<_> = (0..dice.u32(1..4))
        .map(|_| {
            let life = Life {
                world: Arc::clone(&world),
                dice: dice.fork(),
                healed: Arc::clone(&healed),
                stop: stop.clone(),
            };
            tokio::spawn(life.live())
        })
        .collect();
    let trouble = tokio::spawn(trouble(
        Arc::clone(&world),
        dice.fork(),
        Arc::clone(&healed),
    ));
    while !check::all_quiet(&world) {
        world.clock.sleep(Duration::from_secs(5)).await;
        if world.clock.elapsed() > HEAL && !healed.swap(true, Ordering::Relaxed) {
            world.faults.set(|rates| *rates = Rates::default());
        }
        assert!(
            world.clock.elapsed() < END,
            "some tasks never end: {:#?}",
            check::statuses(&world)
        );
    }
    healed.store(true, Ordering::Relaxed);
    world.faults.set(|rates| *rates = Rates::default());
    trouble.abort();
    stop.cancel();
    for worker in workers {
        let ended = tokio::time::timeout(Duration::from_secs(300), worker).await;
        ended
            .expect("a worker does not stop")
            .expect("a worker panicked");
    }
    check::all(&world);
    world.store.look().history.clone()
}

/// What the agent does, and how often everything fails.
fn world(dice: &mut fastrand::Rng) -> World {
    let rates = Rates {
        refused: dice.u32(0..60),
        lost: dice.u32(0..60),
        slow: dice.u32(0..30),
        away: false,
    };
    let own = Mutex::new(dice.fork());
    let goodness = dice.u32(20..90);
    let script = Arc::new(move |_: usize| {
        let mut dice = own.lock().unwrap();
        if dice.u32(0..100) < goodness {
            return if dice.u32(0..20) == 0 {
                Act::Write(WEAK)
            } else {
                Act::Write(GOOD)
            };
        }
        match dice.u32(0..12) {
            0..5 => Act::Write("bad"),
            5 => Act::Nothing,
            6 => Act::Fail { recoverable: true },
            7 => Act::Fail { recoverable: false },
            8 => Act::Hang,
            9 => Act::Panic,
            10 => Act::Vanish,
            _ => Act::Orphan,
        }
    });
    // A model that gives files back costs more to simulate, and takes the same way after that.
    let tools = dice.u32(0..4) > 0;
    World::new(dice.u64(..), rates, script, tools)
}

fn tasks(world: &World, dice: &mut fastrand::Rng) {
    for id in 1..=dice.i64(1..6) {
        let mut new = NewTask::new(1, format!("task {id}"));
        new.priority = dice.u8(0..5);
        new.workflow_step = dice.u8(1..16);
        for on in 1..id {
            if dice.u32(0..4) == 0 {
                new.dependencies.push(Dependency::Task(on));
            }
        }
        world.add(new);
    }
}

/// What happens around the workers until everything heals.
async fn trouble(world: Arc<World>, mut dice: fastrand::Rng, healed: Arc<AtomicBool>) {
    loop {
        world
            .clock
            .sleep(Duration::from_millis(dice.u64(1..120_000)))
            .await;
        if healed.load(Ordering::Relaxed) {
            return;
        }
        let now = world.store.now();
        match dice.u32(0..6) {
            0 => world.clock.jump(dice.i64(-3600..3600)),
            1 => {
                world.faults.set(|rates| rates.away = true);
                world
                    .clock
                    .sleep(Duration::from_millis(dice.u64(1..60_000)))
                    .await;
                world.faults.set(|rates| rates.away = false);
            }
            2 => {
                let mut memory = world.store.look();
                let id = dice.i64(1..=memory.rows.len() as i64);
                memory.cancel(id, now).unwrap();
            }
            3 => check::answer_one(&world, &mut dice),
            _ => {}
        }
    }
}

/// A worker that is started again whenever it has ended.
struct Life {
    world: Arc<World>,
    dice: fastrand::Rng,
    healed: Arc<AtomicBool>,
    stop: CancellationToken,
}

impl Life {
    async fn live(mut self) {
        while !self.stop.is_cancelled() {
            let (plan, patience) = self.fate();
            let stop = self.stop.child_token();
            let worker = Worker {
                pool: AgentPoolManager::new(self.dice.usize(1..4)),
                ..Worker::new(Arc::new(self.world.runner(RunnerSettings::default())))
            };
            let told = stop.clone();
            let work = Box::pin(async move { worker.run(told).await });
            let work = Fated::new(work, plan);
            tokio::pin!(work);
            tokio::select! {
                biased;
                _ = &mut work => {}
                () = self.world.clock.sleep(patience) => {
                    stop.cancel();
                    work.await;
                }
            }
            let rest = Duration::from_micros(self.dice.u64(1..30_000_000));
            self.world.clock.sleep(rest).await;
        }
    }

    /// When this life will crash or stand still, and how long it lasts before it is told to stop.
    fn fate(&mut self) -> (Plan, Duration) {
        let dice = &mut self.dice;
        let mut plan = Plan::default();
        let mut patience = Duration::from_secs(24 * 3600);
        if self.healed.load(Ordering::Relaxed) {
            return (plan, patience);
        }
        if dice.u32(0..2) == 0 {
            plan.crash = Some(dice.u32(1..600));
        }
        if dice.u32(0..3) == 0 {
            plan.pause = Some((
                dice.u32(1..300),
                Duration::from_micros(dice.u64(1..90_000_000)),
            ));
        }
        if dice.u32(0..5) == 0 {
            patience = Duration::from_micros(dice.u64(1..300_000_000));
        }
        (plan, patience)
    }
}
