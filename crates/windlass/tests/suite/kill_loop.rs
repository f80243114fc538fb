//! Workers that are killed, stopped and continued at random: every task still ends exactly once.

use std::collections::BTreeMap;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use windlass_core::task::{
    Broadcast, EventFilter, NewProject, NewTask, Task, TaskFilter, TaskStatus,
};
use windlass_core::{Clock, SystemClock, TaskStore};

use super::cluster::Cluster;
use super::task_world::{INSTANT, TaskWorld};

const WORKERS: usize = 4;

/// How many tasks, and for how long the workers are harmed.
fn size() -> (usize, Duration) {
    match std::env::var_os("WINDLASS_FULL") {
        Some(_) => (100, Duration::from_secs(60)),
        None => (30, Duration::from_secs(15)),
    }
}

/// The seed of this run: `scripts/test` chooses one for all tests and all their attempts.
fn seed() -> u64 {
    let seed = std::env::var("WINDLASS_TEST_SEED");
    seed.map_or(1, |seed| seed.parse().unwrap())
}

#[test]
fn p2_p4_killed_workers_lose_nothing_on_sqlite() {
    let world = TaskWorld::new("test -f done.txt", INSTANT);
    let url = format!("sqlite:{}", world.path("tasks.db").display());
    loop_on(&world, &url);
}

#[test]
fn p2_p4_killed_workers_lose_nothing_on_postgresql() {
    let cluster = Cluster::start("kill-loop");
    let world = TaskWorld::new("true", INSTANT);
    world.configure(&cluster.url(), "test -f done.txt");
    loop_on(&world, &cluster.url());
}

/// Answers only after a while: time enough to be stopped in.
const SLOW: &str = r#"{"turns": [
  {"when": {"turn": 1}, "or_more": true, "answer": [{"write_file": {"path": "done.txt", "content": "done\n"}}, {"wait_ms": 1500}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"#;

#[test]
fn p3_a_worker_stopped_past_its_lease_changes_nothing_and_says_so() {
    let world = TaskWorld::new("test -f done.txt", SLOW);
    world.lease(2);
    world.json(&["task", "add", "Do it", "--json"]);
    let status = |wanted: &str| {
        let found = world.json(&["task", "show", "1", "--json"]);
        found["task"]["status"] == wanted
    };
    let mut first = world.worker_with(&["--once", "--json"]);
    while !status("in_progress") {}
    signal(&first, Signal::STOP);
    // Its lease runs out meanwhile; the second worker takes the task back, and ends it.
    let second = world.run(&["worker", "--once", "--json"]);
    let clock = SystemClock::new();
    while !status("completed") {
        assert!(clock.elapsed() < Duration::from_secs(60), "{second:?}");
        world.run(&["worker", "--once", "--json"]);
    }
    let before = world.json(&["task", "show", "1", "--json"]);
    signal(&first, Signal::CONT);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut first.stdout.take().unwrap(), &mut said).unwrap();
    let ended = first.wait().unwrap();
    assert!(said.contains("\"superseded\":1"), "{said}");
    assert_eq!(ended.code(), Some(1), "it did not end the task");
    assert_eq!(world.json(&["task", "show", "1", "--json"]), before);
    let found = world.git(&["log", "--all", "--format=%H", "--grep=^Task-Id: 1$"]);
    assert_eq!(found.lines().count(), 1, "published once");
    assert_eq!(world.processes(), Vec::<String>::new());
}

#[expect(
    clippy::print_stdout,
    reason = "the seed and the figures are worth seeing"
)]
fn loop_on(world: &TaskWorld, url: &str) {
    let (count, time) = size();
    world.lease(2);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(windlass_store::open(url)).unwrap();
    runtime.block_on(enqueue(&*store, world, count));

    let seed = seed();
    println!("repeat with WINDLASS_TEST_SEED={seed}");
    let mut workers: Vec<Child> = (0..WORKERS).map(|_| world.worker()).collect();
    let harmed = harm(world, &mut workers, Chance(seed | 1), time);
    let tasks = runtime.block_on(all_ended(&*store));
    for worker in &mut workers {
        signal(worker, Signal::TERM);
        worker.wait().unwrap();
    }

    let attempts: u64 = tasks.iter().map(|task| u64::from(task.attempt)).sum();
    println!("{count} tasks, {harmed} signals, {attempts} attempts");
    assert_eq!(tasks.len(), count);
    let endings = runtime.block_on(endings(&*store));
    for task in &tasks {
        let attempts = runtime.block_on(store.attempts(task.id)).unwrap();
        let last: Vec<_> = attempts.iter().rev().take(3).collect();
        assert_eq!(task.status, TaskStatus::Completed, "{task:?} {last:#?}");
        assert_eq!(
            endings.get(&task.id),
            Some(&1),
            "task {} ended once",
            task.id
        );
        let trailer = format!("--grep=^Task-Id: {}$", task.id);
        let found = world.git(&["log", "--all", "--format=%H", &trailer]);
        assert_eq!(
            found.lines().count(),
            1,
            "task {} was published once",
            task.id
        );
    }
    assert_eq!(world.processes(), Vec::<String>::new());
}

async fn enqueue(store: &dyn TaskStore, world: &TaskWorld, count: usize) {
    let root = world.project().canonicalize().unwrap();
    let name = "project".to_owned();
    let project = store.add_project(NewProject { name, root }).await.unwrap();
    let tasks = (0..count).map(|number| NewTask {
        max_attempts: 1000,
        ..NewTask::new(project.id, format!("task {number}"))
    });
    store.enqueue(tasks.collect()).await.unwrap();
}

/// Kills workers and starts others, or lets them stand still for a while; says how often.
fn harm(world: &TaskWorld, workers: &mut [Child], mut chance: Chance, time: Duration) -> u32 {
    let clock = SystemClock::new();
    let mut harmed = 0;
    while clock.elapsed() < time {
        std::thread::sleep(Duration::from_millis(chance.below(600)));
        let victim = usize::try_from(chance.below(WORKERS as u64)).unwrap();
        harmed += 1;
        if chance.below(3) == 0 {
            signal(&workers[victim], Signal::STOP);
            std::thread::sleep(Duration::from_millis(chance.below(4000)));
            signal(&workers[victim], Signal::CONT);
        } else {
            signal(&workers[victim], Signal::KILL);
            workers[victim].wait().unwrap();
            workers[victim] = world.worker();
        }
    }
    harmed
}

/// The tasks, once all have ended or none has for so long that none will. How long all of them take is the machine's
/// affair: a busy one needs ten times as long for an attempt.
async fn all_ended(store: &dyn TaskStore) -> Vec<Task> {
    let (clock, patience) = (SystemClock::new(), Duration::from_secs(200));
    let (mut ended, mut since) = (0, clock.elapsed());
    loop {
        let tasks = store.tasks(TaskFilter::default()).await.unwrap();
        let now = tasks.iter().filter(|task| task.status.is_final()).count();
        if now > ended {
            (ended, since) = (now, clock.elapsed());
        }
        if ended == tasks.len() || clock.elapsed() - since > patience {
            return tasks;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// How often each task was told to be completed.
async fn endings(store: &dyn TaskStore) -> BTreeMap<i64, usize> {
    let mut endings = BTreeMap::new();
    let mut filter = EventFilter::default();
    loop {
        let events = store.events(filter.clone()).await.unwrap();
        let Some(last) = events.last() else {
            return endings;
        };
        filter.after = last.seq;
        for event in events {
            if let Broadcast::TaskStatus {
                task_id,
                status: TaskStatus::Completed,
                ..
            } = event.message
            {
                *endings.entry(task_id).or_default() += 1;
            }
        }
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    // It may have ended by itself.
    let _ = kill_process(pid, signal);
}

/// Numbers that only look like chance: the same seed, the same numbers.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
