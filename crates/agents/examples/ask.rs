//! Asks an agent in the current folder: `ask AGENT STATE CONFIG PROMPT`, with the configuration as JSON.
//!
//! `ask codex ~/.local/state/windlass '{"model": "gpt-5.5"}' 'What is this?'` prints one event per line. The tests use it
//! to be killed.

use std::io::Write;

use anyhow::{Context, Result, bail};
use windlass_agents::{AgentContext, cli};
use windlass_core::SessionOptions;
use windlass_sandbox::{Host, Sandbox, init};

fn main() -> Result<()> {
    init::main_if_asked();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, state, config, prompt] = words.as_slice() else {
        bail!("usage: ask AGENT STATE CONFIG PROMPT");
    };
    let known = cli::PROFILES.iter().find(|profile| profile.name == name);
    let profile = known.with_context(|| format!("no agent is called {name}"))?;
    let sandbox = Sandbox::detect(Host::current()).await?;
    let make = cli::factory(profile, AgentContext::new(sandbox, state));
    let agent = make(&serde_json::from_str(config)?)?;

    let options = SessionOptions::in_dir(std::env::current_dir()?);
    let session = agent.new_session(options).await?;
    let mut turn = agent.prompt(&session, prompt.as_str()).await?;
    while let Some(event) = turn.recv().await {
        writeln!(std::io::stdout(), "{}", serde_json::to_string(&event)?)?;
    }
    Ok(())
}
