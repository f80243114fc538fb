//! Workers that are registered, drained, killed or forgotten.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use windlass_core::Clock;
use windlass_runner::{
    AgentPoolManager, Error, ResultStatus, RunnerSettings, Worker, WorkerReport,
};
use windlass_tasks::{
    Broadcast, EventFilter, EventLog as _, NewTask, NewWorker, ProjectId, RegisteredWorker, Task,
    TaskStatus, WorkerState, Workers,
};

use super::sim::agent::Action;
use super::sim::harness::Harness;
use super::sim::repo::GOOD;

const INTERVAL: Duration = Duration::from_secs(10);

pub(super) fn entry(labels: &[&str]) -> NewWorker {
    NewWorker {
        name: "m/1".to_owned(),
        machine: "m".to_owned(),
        version: "0.1.0".to_owned(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        kinds: Vec::new(),
        agents: vec!["codex".to_owned()],
        project_id: None,
        lanes: 1,
        interval: INTERVAL,
    }
}

fn start(
    harness: &Harness,
    labels: &[&str],
    stop: &CancellationToken,
) -> JoinHandle<Result<WorkerReport, Error>> {
    let worker = Worker {
        pool: AgentPoolManager::new(1),
        entry: Some(entry(labels)),
        ..Worker::new(Arc::new(harness.runner(RunnerSettings::default())))
    };
    assert_eq!(worker.runner.settings.heartbeat_interval(), INTERVAL);
    let stop = stop.clone();
    tokio::spawn(async move { worker.run(stop).await })
}

/// Returns the only worker, as soon as there is one.
async fn registered(harness: &Harness) -> RegisteredWorker {
    loop {
        if let Some(worker) = harness.store.workers().await.unwrap().pop() {
            return worker;
        }
        harness.clock.sleep(Duration::from_millis(10)).await;
    }
}

async fn until_prompted(harness: &Harness) {
    while harness.prompts().is_empty() {
        harness.clock.sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn drained_worker_finishes_its_task_and_claims_no_other() {
    let harness = Harness::with_actions(&[Action::Hang, Action::Write(GOOD)]);
    let running = harness.add_task("runs");
    let waiting = harness.add_task("waits");
    let run = start(&harness, &[], &CancellationToken::new());
    until_prompted(&harness).await;
    let id = registered(&harness).await.id;
    let drained = harness.store.drain_worker(id).await.unwrap();
    assert_eq!(drained.state, WorkerState::Draining);
    // It is slow: its turn hangs for many intervals, which its entry survives.
    harness.clock.sleep(INTERVAL * 6).await;
    let listed = registered(&harness).await;
    assert_eq!((listed.state, listed.running), (WorkerState::Draining, 1));
    let report = run.await.unwrap().unwrap();
    assert!(report.drained);
    assert_eq!(report.results.len(), 1, "{report:?}");
    assert_ne!(harness.task(running.id).status, TaskStatus::InProgress);
    let left = harness.task(waiting.id);
    assert_eq!((left.status, left.attempt), (TaskStatus::Pending, 0));
    assert_eq!(harness.store.workers().await.unwrap(), []);

    // The next process is not drained.
    let stop = CancellationToken::new();
    let next = start(&harness, &[], &stop);
    while harness.task(waiting.id).status != TaskStatus::Completed {
        harness.clock.sleep(Duration::from_millis(100)).await;
    }
    stop.cancel();
    assert!(!next.await.unwrap().unwrap().drained);
}

/// A store can write both at once.
#[tokio::test(start_paused = true)]
async fn next_task_is_claimed_while_the_end_of_the_last_one_is_stored() {
    // No call without a fault takes longer until the store does it.
    const CALL_MS: u64 = 20;
    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    let tasks = ["one", "two", "three"].map(|title| harness.add_task(title));
    let worker = Worker {
        pool: AgentPoolManager::new(1),
        once: true,
        ..Worker::new(Arc::new(harness.runner(RunnerSettings::default())))
    };
    let report = worker.run(CancellationToken::new()).await.unwrap();
    assert_eq!(report.results.len(), tasks.len(), "{report:?}");
    let events = harness.store.events(EventFilter::default()).await.unwrap();
    let time_of = |task: &Task, wanted: TaskStatus| {
        let at = events.iter().find_map(|event| match event.message {
            Broadcast::TaskStatus {
                task_id, status, ..
            } if (task_id, status) == (task.id, wanted) => Some(event.at.0),
            _ => None,
        });
        at.unwrap()
    };
    for pair in tasks.windows(2) {
        let ended = time_of(&pair[0], TaskStatus::Completed);
        let claimed = time_of(&pair[1], TaskStatus::InProgress);
        let waited = claimed.saturating_sub(ended);
        assert!(waited <= CALL_MS, "{waited} ms after {}", pair[0].title);
    }
}

#[tokio::test(start_paused = true)]
async fn idle_worker_ends_soon_after_it_is_drained() {
    let harness = Harness::with_actions(&[]);
    let run = start(&harness, &[], &CancellationToken::new());
    let id = registered(&harness).await.id;
    let since = harness.clock.elapsed();
    harness.store.drain_worker(id).await.unwrap();
    assert!(run.await.unwrap().unwrap().drained);
    let took = harness.clock.elapsed() - since;
    assert!(took <= INTERVAL + Duration::from_secs(1), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn killed_worker_is_lost_and_a_stopped_one_is_gone() {
    let harness = Harness::with_actions(&[]);
    let stop = CancellationToken::new();
    let killed = start(&harness, &[], &stop);
    registered(&harness).await;
    harness.clock.sleep(INTERVAL * 20).await;
    assert_eq!(registered(&harness).await.state, WorkerState::Active);
    killed.abort();
    harness
        .clock
        .sleep(INTERVAL * 3 + Duration::from_secs(1))
        .await;
    let lost = registered(&harness).await;
    assert_eq!(lost.state, WorkerState::Lost);

    let next = start(&harness, &[], &stop);
    while registered(&harness).await.id == lost.id {
        harness.clock.sleep(Duration::from_millis(10)).await;
    }
    stop.cancel();
    next.await.unwrap().unwrap();
    assert_eq!(harness.store.workers().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn forgotten_worker_registers_itself_again() {
    let harness = Harness::with_actions(&[]);
    let stop = CancellationToken::new();
    let run = start(&harness, &["gpu"], &stop);
    let first = registered(&harness).await;
    harness.store.memory().workers.clear();
    let second = registered(&harness).await;
    assert!(second.id > first.id);
    assert_eq!(second.labels, first.labels);
    stop.cancel();
    run.await.unwrap().unwrap();
    assert_eq!(harness.store.workers().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn task_waits_for_a_worker_with_its_label_and_agent() {
    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    let add = |needs: &[&str], agent: Option<&str>| {
        harness.add(NewTask {
            needs: needs.iter().map(|label| (*label).to_owned()).collect(),
            agent: agent.map(str::to_owned),
            ..NewTask::new(ProjectId::from(1), "a task")
        })
    };
    let gpu = add(&["gpu"], None);
    let foreign = add(&[], Some("claude"));
    let own = add(&[], Some("codex"));
    let stop = CancellationToken::new();
    let without = start(&harness, &["linux"], &stop);
    while harness.task(own.id).status != TaskStatus::Completed {
        harness.clock.sleep(Duration::from_millis(100)).await;
    }
    harness.clock.sleep(INTERVAL * 3).await;
    for task in [&gpu, &foreign] {
        assert_eq!(harness.task(task.id).attempt, 0);
    }
    let with = start(&harness, &["gpu", "linux"], &stop);
    while harness.task(gpu.id).status != TaskStatus::Completed {
        harness.clock.sleep(Duration::from_millis(100)).await;
    }
    stop.cancel();
    let report = with.await.unwrap().unwrap();
    assert_eq!(report.count(ResultStatus::Completed), 1);
    without.await.unwrap().unwrap();
    assert_eq!(harness.task(foreign.id).attempt, 0);
}
