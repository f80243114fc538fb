//! Checks that a model server is reachable, and how its model is used best.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use windlass_core::{AgentBackend, Error, Result};

use super::{ModelAgent, ModelFit, ModelKind, ModelSettings, NoTools};
use crate::AgentContext;
use crate::http::BaseUrl;

/// The connect timeout for a server on this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Checks that there is a key if one is needed, and connects to the model server if it is on this machine. A remote server is not checked: it may be behind a proxy, the
/// check takes time, and the first turn reports a failure anyway. Returns the settings for the model.
pub async fn probe(kind: ModelKind, context: &AgentContext, config: &Value) -> Result<ModelFit> {
    let settings = ModelSettings::from_value(config)?;
    let endpoint = settings.endpoint.as_deref().unwrap_or(kind.endpoint());
    let address = BaseUrl::parse(endpoint).map_err(|problem| Error::config("endpoint", problem))?;
    let configured = settings.model.as_deref().or(kind.default_model());
    let mut fit = ModelFit::new(&settings, kind, configured.unwrap_or_default());
    let agent = ModelAgent::new(kind, settings, context.clone(), Arc::new(NoTools))?;
    agent.require_key()?;
    if !address.is_local() {
        return Ok(fit);
    }
    let reachable = tokio::select! {
        reachable = address.check_reachable() => reachable,
        () = context.clock().sleep(CONNECT_TIMEOUT) => Err("connection timed out".to_owned()),
    };
    reachable.map_err(|problem| Error::Unavailable {
        backend: kind.name().to_owned(),
        problem: format!("{address} cannot be reached ({problem}): {}", hint(kind)),
    })?;
    fit.context_window = agent.context_window(None).await.or(fit.context_window);
    Ok(fit)
}

/// Returns the advice for an unreachable server.
fn hint(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Ollama => {
            "start it with `ollama serve`, see ollama.com for how to install it, or set `endpoint`"
        }
        _ => "start the server, or set `endpoint` to its URL",
    }
}
