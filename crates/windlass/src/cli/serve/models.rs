//! Serves agents as models, with the store and the limits of this server.

use std::sync::Arc;

use windlass_core::SystemClock;
use windlass_gateway::{AgentApi, AgentApiLimits};
use windlass_server::StoreTraceSink;

use super::request_dirs::RequestDirs;
use crate::agent_catalog::AgentCatalog;
use crate::cli::app::App;
use crate::cli::exit::CliError;
use crate::cli::queue::ProjectQueue;
use crate::model_catalog::ConfiguredModels;

/// Creates the working directories of the requests.
pub(super) fn request_dirs(app: &App<'_>) -> Result<RequestDirs, CliError> {
    let state = app
        .inputs
        .state_dir()
        .ok_or_else(|| CliError::usage("no state directory: set HOME or XDG_STATE_HOME"))?;
    RequestDirs::create(&state.join("requests"))
}

/// Creates the agent API over this catalog, which the workers may share.
pub(super) fn agent_api(
    queue: &ProjectQueue,
    request_dirs: &RequestDirs,
    agents: AgentCatalog,
) -> AgentApi {
    let config = &queue.config;
    let defaults = AgentApiLimits::default();
    let concurrent = usize::try_from(config.gateway.concurrency);
    AgentApi::new(
        Arc::new(ConfiguredModels::new(agents, Arc::clone(config))),
        Arc::new(StoreTraceSink(queue.store.clone())),
        request_dirs.path(),
        Arc::new(SystemClock::new()),
        AgentApiLimits {
            concurrent: concurrent.unwrap_or(defaults.concurrent),
            ..defaults
        },
    )
}
