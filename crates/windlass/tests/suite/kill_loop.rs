//! Workers are killed, stopped and continued at random; every task still completes exactly once.

use std::collections::BTreeMap;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use windlass_core::{Clock, SystemClock};
use windlass_tasks::{
    ATTEMPT_LIMIT, Attempt, Broadcast, EventFilter, NewProject, NewTask, Task, TaskFilter, TaskId,
    TaskStatus, TaskStore,
};

use super::cli_harness::Run;
use super::cluster::Cluster;
use super::task_harness::{INSTANT, TaskHarness};

const WORKERS: usize = 4;

/// Returns the number of tasks, and how long workers are killed and stopped.
fn size() -> (usize, Duration) {
    match std::env::var_os("WINDLASS_FULL") {
        Some(_) => (100, Duration::from_secs(60)),
        None => (30, Duration::from_secs(15)),
    }
}

/// Returns the random seed of this run. `scripts/test` sets one for all tests and all their attempts.
fn seed() -> u64 {
    let seed = std::env::var("WINDLASS_TEST_SEED");
    seed.map_or(1, |seed| seed.parse().unwrap())
}

#[test]
fn p2_p4_killed_workers_lose_nothing_on_sqlite() {
    let harness = TaskHarness::new("test -f done.txt", INSTANT);
    let url = format!("sqlite:{}", harness.path("tasks.db").display());
    run_kill_loop(&harness, &url);
}

#[test]
fn p2_p4_killed_workers_lose_nothing_on_postgresql() {
    let cluster = Cluster::start("kill-loop");
    let harness = TaskHarness::new("true", INSTANT);
    harness.configure(&cluster.url(), "test -f done.txt");
    run_kill_loop(&harness, &cluster.url());
}

/// How long a change may take to be found.
const KEEP_TIMEOUT: Duration = Duration::from_secs(60);

/// A script with a delay, so that the worker can be stopped during it.
const SLOW: &str = r#"{"turns": [
  {"when": {"turn": 1}, "or_more": true, "answer": [{"write_file": {"path": "done.txt", "content": "done\n"}}, {"wait_ms": 1500}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"#;

#[test]
fn p3_worker_stopped_past_its_lease_reports_superseded_and_changes_nothing() {
    let harness = TaskHarness::new("test -f done.txt", SLOW);
    harness.lease(2);
    harness.json(&["task", "add", "Do it", "--json"]);
    let has_status = |wanted: &str| {
        let found = harness.json(&["task", "show", "1", "--json"]);
        found["task"]["status"] == wanted
    };
    let mut first = harness.worker_with(&["--once", "--json"]);
    while !has_status("in_progress") {}
    // Its agent has written a file.
    while !harness
        .run(&["task", "log", "1"])
        .stdout
        .contains("✓ Write")
    {}
    signal(&first, Signal::STOP);
    // Its lease expires; the second worker reclaims the task and completes it.
    let second = harness.run(&["worker", "--once", "--json"]);
    let clock = SystemClock::new();
    while !has_status("completed") {
        assert!(clock.elapsed() < Duration::from_secs(60), "{second:?}");
        harness.run(&["worker", "--once", "--json"]);
    }
    let before = harness.json(&["task", "show", "1", "--json"]);
    signal(&first, Signal::CONT);
    let mut output = String::new();
    std::io::Read::read_to_string(&mut first.stdout.take().unwrap(), &mut output).unwrap();
    let ended = first.wait().unwrap();
    assert!(output.contains("\"superseded\":1"), "{output}");
    assert_eq!(
        ended.code(),
        Some(1),
        "the first worker did not complete the task"
    );
    // Nothing but the change that the first attempt left is recorded, and the task is as it was.
    let mut after = harness.json(&["task", "show", "1", "--json"]);
    let commit = after["attempts"][0]["commit"].take();
    assert!(commit.is_string(), "{after}");
    after["attempts"][0]
        .as_object_mut()
        .unwrap()
        .remove("commit");
    assert_eq!(after, before);
    let found = harness.git(&["log", "--all", "--format=%H", "--grep=^Task-Id: 1$"]);
    assert_eq!(found.lines().count(), 1, "published once");
    assert_eq!(harness.processes(), Vec::<String>::new());
}

#[expect(clippy::print_stdout, reason = "prints the seed and the counts")]
fn run_kill_loop(harness: &TaskHarness, url: &str) {
    let (count, time) = size();
    harness.lease(2);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(windlass_store::open(url)).unwrap();
    runtime.block_on(enqueue(&*store, harness, count));

    let seed = seed();
    println!("repeat with WINDLASS_TEST_SEED={seed}");
    let mut workers: Vec<Child> = (0..WORKERS).map(|_| harness.worker()).collect();
    let mut disturbance = Disturbance {
        harness,
        store: &*store,
        runtime: &runtime,
        random: Random(seed | 1),
        kept: 0,
    };
    let signals = disturbance.run(&mut workers, time);
    println!("{} changes of killed workers were found", disturbance.kept);
    let tasks = runtime.block_on(wait_for_tasks(&*store));
    for worker in &mut workers {
        signal(worker, Signal::TERM);
        worker.wait().unwrap();
    }

    let attempts: u64 = tasks.iter().map(|task| u64::from(task.attempt)).sum();
    println!("{count} tasks, {signals} signals, {attempts} attempts");
    assert_eq!(tasks.len(), count);
    let completions = runtime.block_on(completions(&*store));
    for task in &tasks {
        let attempts = runtime.block_on(store.attempts(task.id)).unwrap();
        let last: Vec<_> = attempts.iter().rev().take(3).collect();
        assert_eq!(task.status, TaskStatus::Completed, "{task:?} {last:#?}");
        assert_eq!(
            completions.get(&task.id),
            Some(&1),
            "task {} ended once",
            task.id
        );
        let trailer = format!("--grep=^Task-Id: {}$", task.id);
        let found = harness.git(&["log", "--all", "--format=%H", &trailer]);
        assert_eq!(
            found.lines().count(),
            1,
            "task {} was published once",
            task.id
        );
        check_kept_changes(harness, task, &attempts);
    }
    assert_eq!(harness.processes(), Vec::<String>::new());
}

/// Every recorded change can be read, and every task has one.
fn check_kept_changes(harness: &TaskHarness, task: &Task, attempts: &[Attempt]) {
    let is_kept = attempts.iter().any(|attempt| attempt.commit.is_some());
    assert!(is_kept, "task {}: {attempts:?}", task.id);
    for attempt in attempts.iter().filter(|attempt| attempt.commit.is_some()) {
        let (task, number) = (task.id.to_string(), attempt.number.to_string());
        let run = harness.run(&["task", "diff", &task, "--attempt", &number]);
        assert!(
            run.stdout.contains("+done"),
            "{task} {number}: {}",
            run.stderr
        );
    }
}

async fn enqueue(store: &dyn TaskStore, harness: &TaskHarness, count: usize) {
    let root = harness.project().canonicalize().unwrap();
    let name = "project".to_owned();
    let project = store.add_project(NewProject { name, root }).await.unwrap();
    let tasks = (0..count).map(|number| NewTask {
        max_attempts: ATTEMPT_LIMIT,
        ..NewTask::new(project.id, format!("task {number}"))
    });
    store.enqueue(tasks.collect()).await.unwrap();
}

/// Kills and replaces workers, or stops them for a while.
struct Disturbance<'a> {
    harness: &'a TaskHarness,
    store: &'a dyn TaskStore,
    runtime: &'a tokio::runtime::Runtime,
    random: Random,
    /// Number of changes of killed workers that were found.
    kept: u32,
}

impl Disturbance<'_> {
    /// Disturbs the workers for this time, and returns how often.
    fn run(&mut self, workers: &mut [Child], time: Duration) -> u32 {
        let clock = SystemClock::new();
        let mut signals = 0;
        while clock.elapsed() < time {
            std::thread::sleep(Duration::from_millis(self.random.below(600)));
            let victim = usize::try_from(self.random.below(WORKERS as u64)).unwrap();
            signals += 1;
            if self.random.below(3) == 0 {
                signal(&workers[victim], Signal::STOP);
                std::thread::sleep(Duration::from_millis(self.random.below(4000)));
                signal(&workers[victim], Signal::CONT);
            } else {
                signal(&workers[victim], Signal::KILL);
                workers[victim].wait().unwrap();
                self.find_changes(workers[victim].id());
                workers[victim] = self.harness.worker();
            }
        }
        signals
    }

    /// Checks that a change that the killed worker left in a clone is found.
    fn find_changes(&mut self, pid: u32) {
        let worker = format!("/{pid}");
        let filter = TaskFilter {
            status: Some(TaskStatus::InProgress),
            ..TaskFilter::default()
        };
        for task in self.runtime.block_on(self.store.tasks(filter)).unwrap() {
            let attempts = self.runtime.block_on(self.store.attempts(task.id)).unwrap();
            let Some(attempt) = attempts
                .iter()
                .find(|attempt| attempt.worker.ends_with(&worker))
            else {
                continue;
            };
            let dir = format!("task-{}-attempt-{}", task.id, attempt.number);
            if !self
                .harness
                .clone_files(&dir, "done.txt")
                .contains(&"done\n".to_owned())
            {
                continue;
            }
            let (task, number) = (task.id.to_string(), attempt.number.to_string());
            let diff = ["task", "diff", &task, "--attempt", &number];
            // The file may be the change of an earlier attempt, which this one started from.
            let is_earlier = attempts
                .iter()
                .any(|earlier| earlier.number < attempt.number && earlier.commit.is_some());
            let clock = SystemClock::new();
            let is_found = |run: &Run| {
                run.stdout.contains("+done")
                    || is_earlier && run.stderr.contains("changed no files")
            };
            let mut run = self.harness.run(&diff);
            // Another worker may be keeping the change at this moment.
            while !is_found(&run) {
                let waited = clock.elapsed();
                assert!(waited < KEEP_TIMEOUT, "{task} {number}: {}", run.stderr);
                run = self.harness.run(&diff);
            }
            self.kept += 1;
        }
    }
}

/// Waits until all tasks have ended, or none has ended for 200 s. There is no limit for all of them together, because
/// a busy machine needs ten times as long for an attempt.
async fn wait_for_tasks(store: &dyn TaskStore) -> Vec<Task> {
    let (clock, idle_timeout) = (SystemClock::new(), Duration::from_secs(200));
    let (mut ended, mut since) = (0, clock.elapsed());
    loop {
        let tasks = store.tasks(TaskFilter::default()).await.unwrap();
        let now = tasks.iter().filter(|task| task.status.is_final()).count();
        if now > ended {
            (ended, since) = (now, clock.elapsed());
        }
        if ended == tasks.len() || clock.elapsed() - since > idle_timeout {
            return tasks;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Counts the completion events of each task.
async fn completions(store: &dyn TaskStore) -> BTreeMap<TaskId, usize> {
    let mut completions = BTreeMap::new();
    let mut filter = EventFilter::default();
    loop {
        let events = store.events(filter.clone()).await.unwrap();
        let Some(last) = events.last() else {
            return completions;
        };
        filter.after = last.seq;
        for event in events {
            if let Broadcast::TaskStatus {
                task_id,
                status: TaskStatus::Completed,
                ..
            } = event.message
            {
                *completions.entry(task_id).or_default() += 1;
            }
        }
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    // It may have exited already.
    let _ = kill_process(pid, signal);
}

/// A pseudo-random generator: the same seed gives the same numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
