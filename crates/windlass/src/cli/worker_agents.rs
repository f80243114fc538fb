//! The agents that a worker on this machine can use.

use std::collections::BTreeSet;

use super::agents;
use super::app::App;
use super::exit::CliError;
use crate::agent_catalog::AgentCatalog;

/// Returns the names that tasks can have for the agents of this machine: configured agents, composites, aliases of models
/// and backends whose settings are valid and whose program is installed. No program is started for this.
pub(super) fn usable_agents(
    app: &App<'_>,
    catalog: &AgentCatalog,
) -> Result<Vec<String>, CliError> {
    let config = app.config()?;
    let backends = catalog.backends().into_iter().map(str::to_owned);
    let configured = config.all_agents().map(|agent| agent.name);
    let aliases = config.model_list.keys().cloned();
    let names: BTreeSet<String> = backends.chain(configured).chain(aliases).collect();
    let is_usable = |name: &String| {
        let agent = catalog.find(Some(name));
        agent.is_ok_and(|agent| catalog.open(&agent).is_ok() && agents::is_installed(app, &agent))
    };
    Ok(names.into_iter().filter(is_usable).collect())
}
