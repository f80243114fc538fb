//! Measures the time to an agent's first text, cold and warm, in milliseconds (median of several rounds).
//!
//! Run `warm AGENT STATE CONFIG ROUNDS` in the working directory; the configuration is JSON.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use windlass_agents::{AgentContext, WarmSessionManager, cli};
use windlass_core::{AgentEvent, Clock, SessionOptions, SystemClock};
use windlass_sandbox::{Host, Sandbox, init};

fn main() -> Result<()> {
    init::run_if_invoked();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, state, config, rounds] = args.as_slice() else {
        bail!("usage: warm AGENT STATE CONFIG ROUNDS");
    };
    let config: serde_json::Value = serde_json::from_str(config)?;
    let rounds: usize = rounds.parse()?;
    let known = cli::PROFILES.iter().find(|profile| profile.name() == name);
    let profile = known.with_context(|| format!("unknown agent {name}"))?;
    let sandbox = Sandbox::detect(Host::current()).await?;
    let make = cli::factory(profile, AgentContext::new(sandbox, state));
    let warm = WarmSessionManager::new(move || make(&config));
    let clock = SystemClock::new();

    let (mut cold, mut second) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let key = format!("round {round}");
        cold.push(first_event(&warm, &clock, &key).await?);
        second.push(first_event(&warm, &clock, &key).await?);
        warm.remove(&key).await;
    }
    let (cold, second) = (median(cold), median(second));
    writeln!(
        std::io::stdout(),
        "{name}: cold {cold} ms, warm {second} ms"
    )?;
    Ok(())
}

/// Measures the time from the request to the first chunk of the answer, including the session start.
async fn first_event(warm: &WarmSessionManager, clock: &dyn Clock, key: &str) -> Result<Duration> {
    let options = SessionOptions::in_dir(std::env::current_dir()?);
    let started = clock.elapsed();
    let mut turn = warm.prompt(key, options, "Hello").await?;
    let mut first = None;
    while let Some(event) = turn.recv().await {
        match event {
            AgentEvent::Text(_) => _ = first.get_or_insert_with(|| clock.elapsed() - started),
            AgentEvent::Error { message, .. } => bail!("{message}"),
            _ => {}
        }
    }
    first.context("the agent sent no text")
}

fn median(mut times: Vec<Duration>) -> u128 {
    times.sort();
    times.get(times.len() / 2).map_or(0, Duration::as_millis)
}
