//! The agents and tasks of a directory, with its configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use windlass_acp::{AcpHost, HostDir, OpenAgent, TaskReport, TaskRequest};
use windlass_core::{Error, ErrorCode, Result};
use windlass_gateway::ModelCatalog;
use windlass_runner::AgentResolver;

use super::task_loop;
use crate::agent_catalog::AgentCatalog;
use crate::cli::app::App;
use crate::cli::console::Console;
use crate::cli::exit::CliError;
use crate::cli::repository::repository;
use crate::config::Config;
use crate::model_catalog::ConfiguredModels;

/// Maximum number of open directories.
const MAX_DIRS: usize = 100;

/// Opens the directories of sessions.
pub(super) struct LocalHost {
    /// The program without agents: each directory has its own configuration, and so its own agents.
    app: App<'static>,
    /// The open directories. A process reads a configuration once, and sessions share what their agents know.
    dirs: Mutex<BTreeMap<PathBuf, Arc<LocalDir>>>,
}

impl LocalHost {
    pub(super) fn new(app: &App<'_>, console: &'static Console) -> Self {
        Self {
            app: App {
                registry: Arc::clone(&app.registry),
                machine: app.machine.clone(),
                bridge: app.bridge.clone(),
                inputs: app.inputs.clone(),
                config: app.config.clone(),
                console,
                notices: Arc::new(Once::new()),
                telemetry: Arc::clone(&app.telemetry),
            },
            dirs: Mutex::default(),
        }
    }

    async fn open(&self, cwd: &Path) -> Result<Arc<LocalDir>> {
        if let Some(dir) = self.dirs.lock().get(cwd) {
            return Ok(Arc::clone(dir));
        }
        let app = self.app.in_dir(cwd, self.app.console).await;
        let config = Arc::clone(app.config().map_err(to_error)?);
        let agents = app.catalog().map_err(to_error)?;
        let dir = Arc::new(LocalDir {
            app,
            config,
            agents,
        });
        let mut dirs = self.dirs.lock();
        if dirs.len() >= MAX_DIRS {
            dirs.pop_first();
        }
        dirs.insert(cwd.to_owned(), Arc::clone(&dir));
        Ok(dir)
    }
}

impl AcpHost for LocalHost {
    fn open_dir<'a>(&'a self, cwd: &'a Path) -> BoxFuture<'a, Result<Arc<dyn HostDir>>> {
        Box::pin(async move {
            let dir: Arc<dyn HostDir> = self.open(cwd).await?;
            Ok(dir)
        })
    }
}

/// A directory, with its configuration and agents.
struct LocalDir {
    app: App<'static>,
    config: Arc<Config>,
    agents: AgentCatalog,
}

impl HostDir for LocalDir {
    fn default_agent(&self) -> Result<String> {
        let agent = self.agents.find(None)?;
        // The name may include a model.
        Ok(self.config.default_agent.clone().unwrap_or(agent.name))
    }

    fn agents(&self) -> Vec<String> {
        let models = ConfiguredModels::new(self.agents.clone(), Arc::clone(&self.config));
        models.list().into_iter().map(|model| model.id).collect()
    }

    fn open_agent(&self, name: &str) -> Result<OpenAgent> {
        let agent = self.agents.find(Some(name))?;
        Ok(OpenAgent {
            handle: self.agents.resolve(Some(name), Default::default())?,
            model: agent.model,
        })
    }

    fn task_root(&self) -> Result<PathBuf> {
        repository(&self.app.inputs.cwd).map_err(to_error)
    }

    fn run_task(&self, request: TaskRequest) -> BoxFuture<'_, Result<TaskReport>> {
        Box::pin(async move {
            let done = task_loop::run(&self.app, &self.agents, request).await;
            done.map_err(to_error)
        })
    }
}

/// Converts an error of the command line.
fn to_error(error: CliError) -> Error {
    if error.is_usage() {
        Error::InvalidInput(error.to_string())
    } else if error.is_interrupted() {
        Error::Cancelled
    } else {
        Error::agent(ErrorCode::BackendError, error.to_string())
    }
}
