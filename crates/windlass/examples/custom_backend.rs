//! A custom backend: implement four methods and register it; then it can be used like any other agent.
//!
//! Run it with `cargo run -p windlass --example custom_backend`.

use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::{BoxFuture, FutureExt};
use serde::Deserialize;
use serde_json::json;
use windlass_core::registry::parse_config;
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Capabilities, EventStream, Prompt, Result, SessionId,
    SessionOptions, event_stream,
};

/// Answers with the prompt in upper case.
struct Shout {
    mark: String,
    sessions: AtomicU64,
}

/// The keys of `[agents.NAME]` for this backend.
#[derive(Deserialize)]
struct ShoutConfig {
    #[serde(default)]
    mark: String,
}

impl AgentBackend for Shout {
    fn name(&self) -> &'static str {
        "shout"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            streaming: true,
            ..Capabilities::default()
        }
    }

    fn new_session(&self, _: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        async move { Ok(format!("shout-{number}").into()) }.boxed()
    }

    fn prompt<'a>(
        &'a self,
        _: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        let answer = format!("{}{}", prompt.text.to_uppercase(), self.mark);
        let events = event_stream(|sink| async move {
            for word in answer.split_inclusive(' ') {
                sink.send(AgentEvent::Text(word.to_owned())).await;
            }
            sink.send(AgentEvent::result(answer)).await;
        });
        async { Ok(events) }.boxed()
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let registry = windlass::default_registry().register("shout", |config| {
        let config: ShoutConfig = parse_config(config)?;
        Ok(AgentHandle::wrap(Shout {
            mark: config.mark,
            sessions: AtomicU64::new(1),
        }))
    });

    let agent = registry.create("shout", &json!({ "mark": "!" }))?;
    let session = agent.new_session(SessionOptions::default()).await?;
    let mut events = agent.prompt(&session, "haul away").await?;
    let mut out = std::io::stdout().lock();
    while let Some(envelope) = events.recv_envelope().await {
        serde_json::to_writer(&mut out, &envelope)?;
        std::io::Write::write_all(&mut out, b"\n")?;
    }
    Ok(())
}
