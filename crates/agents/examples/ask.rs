//! Sends a prompt to an agent in the current directory, and prints one event per line.
//!
//! `cargo run -p windlass-agents --example ask` asks a mock. `ask AGENT STATE CONFIG PROMPT` asks an installed agent;
//! the configuration is JSON: `ask codex ~/.local/state/windlass '{"model": "gpt-5.5"}' 'What is this?'`. A test kills
//! it to check that no process survives.

use std::io::Write;

use anyhow::{Context, Result, bail};
use windlass_agents::{AgentContext, acp, cli};
use windlass_core::{AgentHandle, SessionOptions};
use windlass_sandbox::{Host, Sandbox, init};
use windlass_testkit::MockAgent;

fn main() -> Result<()> {
    // A program that uses the sandbox is also its init process. In that case this call does not return.
    init::run_if_invoked();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (agent, prompt) = match args.as_slice() {
        [] => (AgentHandle::wrap(MockAgent::new()), "Hello"),
        [name, state, config, prompt] => (installed(name, state, config).await?, prompt.as_str()),
        _ => bail!("usage: ask [AGENT STATE CONFIG PROMPT]"),
    };

    let options = SessionOptions::in_dir(std::env::current_dir()?);
    let session = agent.new_session(options).await?;
    let mut turn = agent.prompt(&session, prompt).await?;
    while let Some(event) = turn.recv().await {
        writeln!(std::io::stdout(), "{}", serde_json::to_string(&event)?)?;
    }
    Ok(())
}

/// Creates the agent with this name: one with a profile for its command line, or one that speaks ACP.
async fn installed(name: &str, state: &str, config: &str) -> Result<AgentHandle> {
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
    Ok(agent)
}
