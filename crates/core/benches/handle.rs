//! The cost of the handle: events through it, compared with events through a bare channel.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use windlass_core::{AgentEvent, AgentHandle, SessionOptions};
use windlass_testkit::MockAgent;

const EVENTS: usize = 10_000;

fn main() {
    divan::main();
}

fn events() -> Vec<AgentEvent> {
    let mut events = vec![AgentEvent::Text("a word or two of text".to_owned()); EVENTS - 1];
    events.push(AgentEvent::result("done"));
    events
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// One task sends and one task receives, over a bounded channel.
#[divan::bench]
fn bare_channel(bencher: Bencher<'_, '_>) {
    let runtime = runtime();
    bencher
        .counter(ItemsCount::new(EVENTS))
        .with_inputs(events)
        .bench_values(|events| {
            runtime.block_on(async {
                let (sender, mut receiver) = mpsc::channel(windlass_core::limits::EVENT_QUEUE);
                tokio::spawn(async move {
                    for event in events {
                        let _ = sender.send(event).await;
                    }
                });
                while let Some(event) = receiver.recv().await {
                    black_box(event);
                }
            });
        });
}

/// The same events as one turn of an agent.
#[divan::bench]
fn agent_handle(bencher: Bencher<'_, '_>) {
    let runtime = runtime();
    bencher
        .counter(ItemsCount::new(EVENTS))
        .with_inputs(|| AgentHandle::wrap(MockAgent::new().on_prompt("").respond_with(events())))
        .bench_values(|agent| {
            runtime.block_on(async {
                let session = agent.new_session(SessionOptions::default()).await.unwrap();
                let mut turn = agent.prompt(&session, "go").await.unwrap();
                while let Some(event) = turn.recv().await {
                    black_box(event);
                }
            });
        });
}
