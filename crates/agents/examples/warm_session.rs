//! Keeps one session per key, so that the second prompt continues the conversation of the first.
//!
//! Run it with `cargo run -p windlass-agents --example warm_session`.

use std::io::Write;

use anyhow::Result;
use windlass_agents::WarmSessionManager;
use windlass_core::{AgentHandle, SessionOptions};
use windlass_testkit::MockAgent;

#[tokio::main]
async fn main() -> Result<()> {
    // The factory runs once per session; a real one would start a program.
    let warm = WarmSessionManager::new(|| Ok(AgentHandle::wrap(MockAgent::new())));
    let mut out = std::io::stdout().lock();
    for prompt in ["What is this?", "And why?"] {
        let turn = warm
            .prompt("room 7", SessionOptions::default(), prompt)
            .await?;
        let session = turn.session().clone();
        let events = turn.collect().await;
        writeln!(
            out,
            "{} in {}: {} events",
            prompt,
            session.as_str(),
            events.len()
        )?;
    }
    assert_eq!(warm.len(), 1, "both prompts used one session");
    Ok(())
}
