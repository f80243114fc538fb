//! The runner with all that it needs of this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use windlass_core::{Clock, SystemClock, TaskStore};
use windlass_index::CodebaseContext;
use windlass_runner::{AgentResolver, Bus, Listener, Runner, RunnerSettings};
use windlass_sandbox::Sandbox;
use windlass_workspace::{Clones, TestRunner, TestSettings};

use super::app::App;
use super::exit::CliError;
use crate::config::Config;
use crate::git_history::GitHistory;
use crate::registry;

/// What attempts, merges and proofs need besides a store and agents.
pub(super) struct TaskRuntime {
    pub(super) clones: Clones,
    pub(super) tests: TestRunner,
    codebase: CodebaseContext,
}

impl TaskRuntime {
    /// A crew whose places are this store's own.
    pub(super) async fn for_store(
        app: &App<'_>,
        config: &Config,
        tests: TestSettings,
    ) -> Result<Self, CliError> {
        let url = config.store_url().unwrap_or_default();
        let places = clones_dir(app, &config.root().join(url))?;
        Self::in_dir(app, places, tests).await
    }

    /// A crew whose places are in this folder.
    pub(super) async fn in_dir(
        app: &App<'_>,
        places: PathBuf,
        tests: TestSettings,
    ) -> Result<Self, CliError> {
        let sandbox = registry::sandbox(&app.inputs).await;
        let sandbox = sandbox.map_err(CliError::failed)?;
        let clones = Clones::new(sandbox.clone(), places);
        Ok(Self {
            clones: clones.map_err(windlass_core::Error::from)?,
            tests: TestRunner::new(sandbox.clone(), tests),
            codebase: codebase(app, sandbox),
        })
    }

    /// A runner over this store, with these agents.
    pub(super) fn runner(
        &self,
        store: Arc<dyn TaskStore>,
        agents: Arc<dyn AgentResolver>,
        listener: Option<Arc<dyn Listener>>,
        settings: RunnerSettings,
    ) -> Runner {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let bus = match listener {
            Some(listener) => Bus::new(listener, Arc::clone(&clock)),
            None => Bus::disabled(),
        };
        Runner {
            store,
            workspace: Arc::new(self.clones.clone()),
            verifier: Arc::new(self.tests.clone()),
            context: Arc::new(self.codebase.clone()),
            agents,
            clock,
            bus,
            settings,
        }
    }
}

/// What the trusted configuration says about the tests.
pub(super) fn test_settings(config: &Config) -> TestSettings {
    let usual = TestSettings::default();
    let words = |key: &str| -> Option<Vec<String>> {
        serde_json::from_value(config.value(key)?.clone()).ok()
    };
    let none = config
        .value("tests.command")
        .is_some_and(|value| value == "none");
    TestSettings {
        command: words("tests.command"),
        setup: words("tests.setup"),
        timeout: config
            .seconds("tests.timeout_secs")
            .unwrap_or(usual.timeout),
        network: config
            .value("tests.network")
            .is_some_and(|value| value == true),
        none,
        ..usual
    }
}

/// How attempts are made, as the configuration says.
pub(super) fn runner_settings(config: &Config) -> RunnerSettings {
    let usual = RunnerSettings::default();
    RunnerSettings {
        worker: format!("worker-{}", std::process::id()),
        lease: config.seconds("worker.lease_secs").unwrap_or(usual.lease),
        ..usual
    }
}

/// The index with what this machine has: a place for its cache, and git's history.
fn codebase(app: &App<'_>, sandbox: Sandbox) -> CodebaseContext {
    let codebase = match app.inputs.cache_dir() {
        Some(folder) => CodebaseContext::new(folder.join("index")),
        None => CodebaseContext::without_cache(),
    };
    codebase.with_history(GitHistory::new(sandbox))
}

/// The folder for the clones of one store: attempts are known by numbers that only mean something there.
fn clones_dir(app: &App<'_>, store: &Path) -> Result<PathBuf, CliError> {
    let state = app.inputs.state_dir().ok_or_else(|| {
        CliError::usage("there is no place for clones: set HOME or XDG_STATE_HOME")
    })?;
    let hash = Sha256::digest(store.as_os_str().as_encoded_bytes());
    let name: String = hash
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(state.join("places").join(name))
}
