//! Records a turn as a cassette, then replays it without the agent.
//!
//! Run it with `cargo run -p windlass-testkit --example record_and_replay`.

use std::io::Write;

use windlass_cassette::Substitutions;
use windlass_core::{AgentHandle, SessionOptions};
use windlass_testkit::{MockAgent, RecordingAgent, ReplayAgent};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let recorder = RecordingAgent::new(MockAgent::new());
    let recording = recorder.recording();
    let agent = AgentHandle::wrap(recorder);
    let session = agent.new_session(SessionOptions::default()).await?;
    let recorded = agent.prompt(&session, "Hello").await?.collect().await;

    // A cassette contains no paths, ports, ids or secrets of this machine.
    let cassette = recording.cassette(&Substitutions::new())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", cassette.to_jsonl()?)?;

    let replay = AgentHandle::wrap(ReplayAgent::new(cassette));
    let session = replay.new_session(SessionOptions::default()).await?;
    let replayed = replay.prompt(&session, "Hello").await?.collect().await;
    assert_eq!(replayed, recorded);
    writeln!(out, "replayed {} events", replayed.len())?;
    Ok(())
}
