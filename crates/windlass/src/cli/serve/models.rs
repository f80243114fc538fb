//! Agents as models, on the store and under the limits of this server.

use std::sync::Arc;

use windlass_core::SystemClock;
use windlass_gateway::{AgentApi, AgentApiLimits, StoreTraceSink};

use super::request_dirs::RequestDirs;
use crate::agent_catalog::AgentCatalog;
use crate::cli::app::App;
use crate::cli::exit::CliError;
use crate::cli::queue::TaskQueue;
use crate::model_catalog::ConfiguredModels;

/// Where requests work.
pub(super) fn request_dirs(app: &App<'_>) -> Result<RequestDirs, CliError> {
    let state = app.inputs.state_dir().ok_or_else(|| {
        CliError::usage("there is no place for requests to work in: set HOME or XDG_STATE_HOME")
    })?;
    RequestDirs::create(&state.join("requests"))
}

/// The surfaces over this roster, which workers may share.
pub(super) fn agent_api(queue: &TaskQueue, rooms: &RequestDirs, roster: AgentCatalog) -> AgentApi {
    let config = &queue.config;
    let usual = AgentApiLimits::default();
    let concurrent = config
        .number("gateway.concurrency")
        .and_then(|number| number.try_into().ok());
    AgentApi::new(
        Arc::new(ConfiguredModels::new(roster, config.clone())),
        Arc::new(StoreTraceSink(Arc::clone(&queue.store))),
        rooms.path(),
        Arc::new(SystemClock::new()),
        AgentApiLimits {
            concurrent: concurrent.unwrap_or(usual.concurrent),
            ..usual
        },
    )
}
