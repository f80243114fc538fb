//! Tests of the format, of normalization and of restoring.

mod format;
mod normal;
mod secrets;

use std::time::Duration;

use serde_json::json;

use super::*;
use windlass_core::AgentEvent;

/// Creates a turn with these events, one millisecond apart.
fn turn(prompt: &str, events: Vec<AgentEvent>) -> Interaction {
    let timed = |(event, at)| TimedEvent {
        at: Duration::from_millis(at),
        event,
    };
    Interaction {
        session: "s".into(),
        resumed: false,
        options: RecordedOptions::default(),
        prompt: prompt.to_owned(),
        events: events.into_iter().zip(0..).map(timed).collect(),
        cut: None,
    }
}

fn exchange() -> Exchange {
    Exchange {
        dialect: "chat".to_owned(),
        method: "POST".to_owned(),
        path: "/v1/chat/completions".to_owned(),
        body: json!({"model": "m"}),
        status: 200,
        headers: [("content-type".to_owned(), "text/event-stream".to_owned())].into(),
        chunks: vec![Chunk {
            at: Duration::from_millis(3),
            text: "data: [DONE]\n\n".to_owned(),
        }],
        cut: None,
    }
}

fn normalized(substitutions: &Substitutions, entries: Vec<Entry>) -> String {
    let mut cassette = Cassette { entries };
    Normalizer::new(substitutions).normalize_cassette(&mut cassette);
    cassette.to_jsonl().unwrap()
}
