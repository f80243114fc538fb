//! Streams the events of a turn: text, tool calls and the result, one line each.
//!
//! Run it with `cargo run -p windlass-testkit --example stream_events`.

use std::io::Write;

use serde_json::json;
use windlass_core::{AgentEvent, AgentHandle, SessionOptions};
use windlass_testkit::{MockAgent, ToolCall};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let read = ToolCall::new("read_file", json!({"path": "notes.txt"}), json!("one\ntwo"));
    let mock = MockAgent::new()
        .on_prompt("How many lines")
        .respond_with_tools(vec![read], "Two lines.");
    let agent = AgentHandle::wrap(mock);

    let session = agent.new_session(SessionOptions::default()).await?;
    let mut turn = agent
        .prompt(&session, "How many lines has notes.txt?")
        .await?;
    let mut out = std::io::stdout().lock();
    // The stream always ends with exactly one terminal event: `Result`, `Error` or `SessionInvalid`.
    while let Some(event) = turn.recv().await {
        match &event {
            AgentEvent::Text(text) => writeln!(out, "text: {text}")?,
            AgentEvent::Result { text, .. } => writeln!(out, "result: {text}")?,
            other => writeln!(out, "event: {}", serde_json::to_string(other)?)?,
        }
    }
    Ok(())
}
