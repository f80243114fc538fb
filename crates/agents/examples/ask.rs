//! Sends a prompt to an agent in the current directory: `ask AGENT STATE CONFIG PROMPT`. The configuration is JSON.
//!
//! `ask codex ~/.local/state/windlass '{"model": "gpt-5.5"}' 'What is this?'` prints one event per line. A test
//! kills it to check that no process survives.

use std::io::Write;

use anyhow::{Context, Result, bail};
use windlass_agents::{AgentContext, acp, cli};
use windlass_core::SessionOptions;
use windlass_sandbox::{Host, Sandbox, init};

fn main() -> Result<()> {
    init::run_if_invoked();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, state, config, prompt] = args.as_slice() else {
        bail!("usage: ask AGENT STATE CONFIG PROMPT");
    };
    let context = AgentContext::new(Sandbox::detect(Host::current()).await?, state);
    let config = serde_json::from_str(config)?;
    let known = cli::PROFILES.iter().find(|profile| profile.name() == name);
    let agent = match known {
        Some(profile) => cli::factory(profile, context)(&config)?,
        None => {
            let preset = acp::preset(name);
            let preset = preset.with_context(|| format!("unknown agent {name}"))?;
            acp::factory(Some(preset), context)(&config)?
        }
    };

    let options = SessionOptions::in_dir(std::env::current_dir()?);
    let session = agent.new_session(options).await?;
    let mut turn = agent.prompt(&session, prompt.as_str()).await?;
    while let Some(event) = turn.recv().await {
        writeln!(std::io::stdout(), "{}", serde_json::to_string(&event)?)?;
    }
    Ok(())
}
