//! Measures the cost of a replay: its events through a handle, compared with parsing the same lines
//! with `serde_json` alone.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::time::Duration;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use windlass_cassette::{
    Cassette, Interaction, Normalizer, RecordedOptions, Substitutions, TimedEvent,
};
use windlass_core::{AgentEvent, AgentHandle, SessionOptions};
use windlass_testkit::ReplayAgent;

const EVENTS: usize = 10_000;

fn main() {
    divan::main();
}

/// Creates a long turn: text chunks, and a tool call with a path every tenth event.
fn recorded() -> Cassette {
    let event = |number: usize| match number % 10 {
        0 => AgentEvent::ToolStart {
            id: format!("call-{number:08}"),
            name: "Read".to_owned(),
            input: json!({ "path": format!("/home/me/shop/src/file{number}.rs") }),
        },
        1 => AgentEvent::ToolEnd {
            id: format!("call-{:08}", number - 1),
            name: "Read".to_owned(),
            output: json!({ "text": "fn main() {}\n".repeat(8) }),
            success: true,
            duration_ms: 3,
        },
        _ => AgentEvent::Text("a word or two of text".to_owned()),
    };
    let mut events: Vec<AgentEvent> = (0..EVENTS - 1).map(event).collect();
    events.push(AgentEvent::result("done"));
    let timed = |event| TimedEvent {
        at: Duration::ZERO,
        event,
    };
    Cassette::from(vec![Interaction {
        session: "s".into(),
        resumed: false,
        options: RecordedOptions::default(),
        prompt: "go".to_owned(),
        events: events.into_iter().map(timed).collect(),
        cut: None,
    }])
}

fn substitutions() -> Substitutions {
    Substitutions::new()
        .workspace("/home/me/shop")
        .home("/home/me")
}

fn text() -> String {
    let mut cassette = recorded();
    Normalizer::new(&substitutions()).normalize_cassette(&mut cassette);
    cassette.to_jsonl().unwrap()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

async fn play(cassette: Cassette) {
    let agent = AgentHandle::wrap(ReplayAgent::new(cassette).with_substitutions(substitutions()));
    let session = agent.new_session(SessionOptions::default()).await.unwrap();
    let mut turn = agent.prompt(&session, "go").await.unwrap();
    while let Some(event) = turn.recv().await {
        black_box(event);
    }
}

/// Parses every line as a JSON value: the lower bound.
#[divan::bench]
fn serde_json_alone(bencher: Bencher<'_, '_>) {
    let text = text();
    bencher.counter(ItemsCount::new(EVENTS)).bench(|| {
        for line in text.lines() {
            black_box(serde_json::from_str::<Value>(line).unwrap());
        }
    });
}

/// Parses the cassette.
#[divan::bench]
fn read(bencher: Bencher<'_, '_>) {
    let text = text();
    let bencher = bencher.counter(ItemsCount::new(EVENTS));
    bencher.bench(|| Cassette::parse(&text).unwrap());
}

/// From the text to the last event out of the handle.
#[divan::bench]
fn read_and_replay(bencher: Bencher<'_, '_>) {
    let (text, runtime) = (text(), runtime());
    let bencher = bencher.counter(ItemsCount::new(EVENTS));
    bencher.bench(|| runtime.block_on(play(Cassette::parse(&text).unwrap())));
}

/// Replays a cassette that is already parsed.
#[divan::bench]
fn replay(bencher: Bencher<'_, '_>) {
    let (cassette, runtime) = (Cassette::parse(&text()).unwrap(), runtime());
    bencher
        .counter(ItemsCount::new(EVENTS))
        .with_inputs(|| cassette.clone())
        .bench_values(|cassette| runtime.block_on(play(cassette)));
}

/// The cost at the end of a recording.
#[divan::bench]
fn normalize(bencher: Bencher<'_, '_>) {
    bencher
        .counter(ItemsCount::new(EVENTS))
        .with_inputs(recorded)
        .bench_values(|mut cassette| {
            Normalizer::new(&substitutions()).normalize_cassette(&mut cassette);
            cassette
        });
}
