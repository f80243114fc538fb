//! Combines two agents into one that falls back to the second when the first fails.
//!
//! Run it with `cargo run -p windlass-agents --example composite`.

use std::io::Write;

use anyhow::Result;
use windlass_agents::composite::{Composite, CompositeKind, CompositeProfile, Node};
use windlass_core::{AgentHandle, ErrorCode, SessionOptions};
use windlass_testkit::MockAgent;

#[tokio::main]
async fn main() -> Result<()> {
    let busy = MockAgent::new()
        .on_prompt("")
        .respond_error(ErrorCode::RateLimited, "too many requests");
    let nodes = vec![
        Node::new("busy", AgentHandle::wrap(busy)),
        Node::new("spare", AgentHandle::wrap(MockAgent::new())),
    ];
    let composite = Composite::new(CompositeProfile::new(CompositeKind::Fallback), nodes)?;
    let agent = composite.handle();

    let session = agent.new_session(SessionOptions::default()).await?;
    let mut turn = agent.prompt(&session, "Hello").await?;
    let mut out = std::io::stdout().lock();
    while let Some(event) = turn.recv().await {
        writeln!(out, "{}", serde_json::to_string(&event)?)?;
    }
    Ok(())
}
