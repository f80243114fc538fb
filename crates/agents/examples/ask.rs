//! Asks a real agent: `ask AGENT FOLDER STATE JSON PROMPT...`; each further prompt is another turn. `ID=…` resumes.
#![expect(clippy::print_stdout, reason = "an example talks to a person")]
use std::time::Instant;

use windlass_agents::{AgentContext, cli};
use windlass_core::{AgentHandle, SessionId, SessionOptions, TurnLimits};
use windlass_sandbox::{Host, Sandbox, init};

fn main() -> anyhow::Result<()> {
    init::main_if_asked();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, folder, state, config, prompts @ ..] = args.as_slice() else {
        anyhow::bail!("usage: ask AGENT FOLDER STATE JSON PROMPT...");
    };
    let profile = cli::PROFILES.iter().find(|p| p.name == name).unwrap();
    let sandbox = Sandbox::detect(Host::current()).await?;
    let context = AgentContext::new(sandbox, state);
    let config = serde_json::from_str(config)?;
    #[expect(clippy::disallowed_methods)]
    let started = Instant::now();
    let found = cli::probe(profile, &context, &config).await?;
    println!(
        "{:?} {} {} {}",
        started.elapsed(),
        found.name,
        found.version,
        found.transport.name
    );
    let handle: AgentHandle = cli::factory(profile, context)(&config)?;
    let handle = match std::env::var("DEADLINE") {
        Ok(s) => handle.with_limits(TurnLimits {
            deadline: std::time::Duration::from_secs_f64(s.parse()?),
            ..handle.limits()
        }),
        _ => handle,
    };
    let mut session = match std::env::var("ID") {
        Ok(id) => {
            let id = SessionId::from(id);
            handle
                .load_session(&id, SessionOptions::in_dir(folder))
                .await?;
            id
        }
        _ => handle.new_session(SessionOptions::in_dir(folder)).await?,
    };
    println!("{:?} session {session}", started.elapsed());
    for prompt in prompts {
        let mut turn = handle.prompt(&session, prompt.as_str()).await?;
        if let Ok(s) = std::env::var("CANCEL") {
            let (h, id, s) = (handle.clone(), session.clone(), s.parse()?);
            tokio::spawn(async move {
                tokio::time::sleep(std::time::Duration::from_secs_f64(s)).await;
                let _ = h.cancel(&id).await;
            });
        }
        while let Some(event) = turn.recv().await {
            println!("{:?} {}", started.elapsed(), serde_json::to_string(&event)?);
            if let windlass_core::AgentEvent::SessionChanged { new_session_id } = event {
                session = new_session_id.into();
            }
        }
    }
    Ok(())
}
