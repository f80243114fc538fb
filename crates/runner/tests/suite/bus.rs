//! A slow or dropped listener does not make the sender wait.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use windlass_core::Clock;
use windlass_runner::{Bus, LISTENER_TIMEOUT};
use windlass_tasks::{Broadcast, ProjectId, TaskId, TaskStatus};

use super::sim::clock::SimClock;

fn message(task_id: i64) -> Broadcast {
    Broadcast::TaskStatus {
        project_id: ProjectId::from(1),
        task_id: TaskId::from(task_id),
        status: TaskStatus::Pending,
        agent_id: "worker".to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn slow_listener_drops_and_counts_messages() {
    let clock = Arc::new(SimClock::new());
    let (sender, mut receiver) = mpsc::channel(1);
    let bus = Bus::new(Arc::new(sender), clock.clone());
    for task in 1..=3 {
        bus.send(message(task));
    }
    assert_eq!(clock.elapsed(), Duration::ZERO, "sending waited");
    tokio::time::sleep(LISTENER_TIMEOUT * 2 + Duration::from_millis(1)).await;
    assert_eq!(bus.dropped(), 2);
    assert_eq!(receiver.recv().await, Some(message(1)));
    bus.send(message(4));
    assert_eq!(receiver.recv().await, Some(message(4)));
}

#[tokio::test(start_paused = true)]
async fn full_queue_drops_immediately() {
    let (sender, receiver) = mpsc::channel(1);
    let bus = Bus::new(Arc::new(sender), Arc::new(SimClock::new()));
    for task in 0..2000 {
        bus.send(message(task));
    }
    assert!(bus.dropped() >= 900, "{}", bus.dropped());
    drop(receiver);
    Bus::disabled().send(message(1));
}
