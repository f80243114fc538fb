//! A recording is the same on every machine, and so is its replay.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_cassette::{
    Cassette, Interaction, Normalizer, RecordedOptions, Substitutions, TimedEvent,
};
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Envelope, SessionOptions, Timestamp, Usage,
};
use windlass_testkit::{FakeClock, MockAgent, RecordingAgent, ReplayAgent};

/// A machine: its workspace, home directory, port and ids.
struct Machine {
    workspace: &'static str,
    home: &'static str,
    port: u16,
    id: &'static str,
}

const HERE: Machine = Machine {
    workspace: "/home/me/shop",
    home: "/home/me",
    port: 41_000,
    id: "7b0e1f9a-0c3d-4f7a-9a44-0123456789ab",
};
const THERE: Machine = Machine {
    workspace: "/srv/ci/build 7",
    home: "/var/lib/ci",
    port: 5_999,
    id: "11111111-2222-4333-8444-555555555555",
};

impl Machine {
    fn substitutions(&self) -> Substitutions {
        Substitutions::new()
            .workspace(self.workspace)
            .home(self.home)
    }

    fn prompt(&self) -> String {
        format!("Read {}/a.txt and {}/.rc", self.workspace, self.home)
    }

    /// Creates an agent that emits what an agent would emit on this machine, partly in chunks.
    fn agent(&self) -> MockAgent {
        let path = format!("{}/a.txt", self.workspace);
        let (head, tail) = path.split_at(6);
        let text = |text: &str| AgentEvent::Text(text.to_owned());
        let events = vec![
            text(&format!("I read {head}")),
            text(tail),
            AgentEvent::ToolStart {
                id: self.id.to_owned(),
                name: "Read".into(),
                input: json!({ "path": path, "url": format!("http://127.0.0.1:{}/x", self.port) }),
            },
            AgentEvent::ToolEnd {
                id: self.id.to_owned(),
                name: "Read".into(),
                output: json!({ &path: "text" }),
                success: true,
                duration_ms: 0,
            },
            AgentEvent::ToolStart {
                id: "left open".into(),
                name: "Wait".into(),
                input: json!(null),
            },
            AgentEvent::Result {
                text: format!("See {}/.cache/{}", self.home, self.id),
                usage: Some(Usage {
                    cost_usd: Some(0.000_123_456_789_012_345_6),
                    ..Usage::default()
                }),
                metadata: json!({ "session": "mock-1" }),
            },
        ];
        MockAgent::new().on_prompt("Read").respond_with(events)
    }
}

/// Runs the prompt on an agent and returns what left the handle.
async fn envelopes(machine: &Machine, agent: impl AgentBackend + 'static) -> Vec<Envelope> {
    let clock = Arc::new(FakeClock::at(Timestamp(machine.port.into())));
    let agent = AgentHandle::wrap(agent).with_clock(clock);
    let options = SessionOptions::in_dir(machine.workspace);
    let session = agent.new_session(options).await.unwrap();
    let mut events = agent.prompt(&session, machine.prompt()).await.unwrap();
    let mut all = Vec::new();
    while let Some(envelope) = events.recv_envelope().await {
        all.push(envelope);
    }
    all
}

/// Like [`envelopes`], recorded: returns the envelopes and the text of the cassette.
async fn recorded(
    machine: &Machine,
    agent: impl AgentBackend + 'static,
) -> (Vec<Envelope>, String) {
    let recorder = RecordingAgent::new(agent);
    let recording = recorder.recording();
    let events = envelopes(machine, recorder).await;
    let cassette = recording.cassette(&machine.substitutions()).unwrap();
    (events, cassette.to_jsonl().unwrap())
}

/// Returns the stream as lines: number, offset, event, without machine-specific values.
fn lines(machine: &Machine, envelopes: &[Envelope]) -> String {
    let start = envelopes[0].at.0;
    let events = envelopes.iter().map(|e| TimedEvent {
        at: Duration::from_millis(e.at.0 - start),
        event: e.event.clone(),
    });
    let mut cassette = Cassette::from(vec![Interaction {
        session: envelopes[0].session.clone(),
        resumed: false,
        options: RecordedOptions::default(),
        prompt: String::new(),
        events: events.collect(),
        cut: None,
    }]);
    Normalizer::new(&machine.substitutions()).normalize_cassette(&mut cassette);
    let seqs: Vec<u64> = envelopes.iter().map(|e| e.seq).collect();
    format!("{seqs:?}\n{}", cassette.to_jsonl().unwrap())
}

fn replay(text: &str, machine: &Machine) -> ReplayAgent {
    ReplayAgent::new(Cassette::parse(text).unwrap()).with_substitutions(machine.substitutions())
}

#[tokio::test(start_paused = true)]
async fn p15_two_machines_record_the_same_bytes() {
    let (_, here) = recorded(&HERE, HERE.agent()).await;
    let (_, there) = recorded(&THERE, THERE.agent()).await;
    // The position at which the path is split depends on its length: only the joined chunks are
    // equal.
    assert_eq!(here, there);
    for secret in ["/home/me", "/srv/ci", "41000", "7b0e1f9a"] {
        assert!(!here.contains(secret), "{here}");
    }
}

#[tokio::test(start_paused = true)]
async fn p15_replay_on_another_machine_gives_the_same_events_and_recording() {
    let (original, text) = recorded(&HERE, HERE.agent()).await;
    let (same, _) = recorded(&HERE, replay(&text, &HERE)).await;
    let (other, again) = recorded(&THERE, replay(&text, &THERE)).await;
    let bare = envelopes(&THERE, replay(&text, &THERE)).await;

    assert_eq!(lines(&HERE, &original), lines(&HERE, &same));
    assert_eq!(lines(&HERE, &original), lines(&THERE, &other));
    assert_eq!(lines(&HERE, &original), lines(&THERE, &bare));
    assert_eq!(again, text);
}

#[tokio::test(start_paused = true)]
async fn replayed_paths_are_local() {
    let (_, text) = recorded(&HERE, HERE.agent()).await;
    let events = envelopes(&THERE, replay(&text, &THERE)).await;
    let json = serde_json::to_string(&events).unwrap();
    let path = Path::new(THERE.workspace).join("a.txt");
    assert!(json.contains(path.to_str().unwrap()), "{json}");
    assert!(json.contains("/var/lib/ci/.cache/{id:"), "{json}");
    assert!(!json.contains("/home/me"), "{json}");
}
