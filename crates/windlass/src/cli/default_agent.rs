//! Chooses an agent if none is named or configured.

use super::agents;
use super::app::App;
use super::exit::CliError;

/// The agents to search for, in this order. All of them can edit files.
const CANDIDATES: [&str; 8] = [
    "claude", "codex", "gemini", "qwen", "opencode", "copilot", "goose", "cursor",
];

/// Returns the named agent, otherwise the configured one, otherwise the first one that is installed and logged in, which
/// a notice then names. Returns `None` if there is no such agent.
pub(super) async fn choose(app: &App<'_>, named: Option<&str>) -> Result<Option<String>, CliError> {
    let configured = app.config()?.default_agent.as_deref();
    if let Some(name) = named.or(configured) {
        return Ok(Some(name.to_owned()));
    }
    for name in CANDIDATES {
        if agents::row_of(app, name).await?.is_usable() {
            app.console.notice(&format!(
                "no agent is configured: using {name}, the first one that is installed; windlass init makes it the default"
            ));
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}
