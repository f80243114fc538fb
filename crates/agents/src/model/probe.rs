//! Whether anybody is there to be asked.

use std::time::Duration;

use serde_json::Value;
use windlass_core::{Error, Result};

use super::{ModelKind, ModelSettings};
use crate::AgentContext;
use crate::http::BaseUrl;

/// How long a server of this machine may take to open its door.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Knocks where the model is served, if that is on this machine. Elsewhere a proxy may stand between us and a server,
/// and asking one costs time: whether it is there shows in a turn.
pub async fn probe(kind: ModelKind, context: &AgentContext, config: &Value) -> Result<()> {
    let settings = ModelSettings::from_value(config)?;
    let endpoint = settings.endpoint.as_deref().unwrap_or(kind.endpoint());
    let address = BaseUrl::parse(endpoint).map_err(|problem| Error::config("endpoint", problem))?;
    if !address.is_local() {
        return Ok(());
    }
    let opened = tokio::select! {
        opened = address.check_reachable() => opened,
        () = context.clock().sleep(CONNECT_TIMEOUT) => Err("it does not answer".to_owned()),
    };
    opened.map_err(|problem| Error::Unavailable {
        backend: kind.name().to_owned(),
        problem: format!("{address} cannot be reached ({problem}): {}", start(kind)),
    })
}

/// What to do about it.
fn start(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Ollama => {
            "start it with `ollama serve`, see ollama.com for how to install it, or set `endpoint`"
        }
        _ => "start the server, or set `endpoint` to where it is",
    }
}
