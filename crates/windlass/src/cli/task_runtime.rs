//! Creates the runner with the clones, tests and code index of this machine.

use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use windlass_core::{Clock, Masker, SystemClock};
use windlass_index::CodebaseContext;
use windlass_runner::{AgentResolver, Bus, Listener, Runner, RunnerSettings};
use windlass_sandbox::Sandbox;
use windlass_tasks::TaskStore;
use windlass_workspace::{Clones, TestRunner, TestSettings};

use super::app::App;
use super::exit::CliError;
use super::masking::{self, MaskedVerifier};
use crate::config::{Config, TestCommand};
use crate::git_history::GitHistory;
use crate::registry;

/// What attempts, merges and proofs need in addition to a store and agents.
pub(super) struct TaskRuntime {
    pub(super) clones: Clones,
    pub(super) tests: TestRunner,
    codebase: CodebaseContext,
    masker: Masker,
}

impl TaskRuntime {
    /// Creates a runtime whose clones are in the directory of the store with this URL.
    pub(super) async fn for_store(
        app: &App<'_>,
        store_url: &str,
        tests: TestSettings,
    ) -> Result<Self, CliError> {
        let clones = clones_dir(app, store_url)?;
        Self::in_dir(app, clones, tests).await
    }

    /// Creates a runtime whose clones are in this directory.
    pub(super) async fn in_dir(
        app: &App<'_>,
        clones: PathBuf,
        tests: TestSettings,
    ) -> Result<Self, CliError> {
        let sandbox = registry::sandbox(app.config()?).await;
        let sandbox = sandbox.map_err(CliError::failed)?;
        let clones = Clones::new(sandbox.clone(), clones);
        Ok(Self {
            clones: clones.map_err(windlass_core::Error::from)?,
            tests: TestRunner::new(sandbox.clone(), tests),
            codebase: codebase(app, sandbox),
            masker: masking::masker(&app.inputs, &Config::load(&app.inputs)?),
        })
    }

    /// Creates a runner with this store and these agents.
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
            verifier: Arc::new(MaskedVerifier {
                verifier: self.tests.clone(),
                masker: self.masker.clone(),
            }),
            context: Arc::new(self.codebase.clone()),
            agents,
            clock,
            bus,
            settings,
        }
    }
}

/// Reads the test settings from the trusted configuration.
pub(super) fn test_settings(config: &Config) -> TestSettings {
    let tests = config.tests.clone();
    let (command, none) = match tests.command {
        Some(TestCommand::Run(command)) => (Some(command), false),
        Some(TestCommand::None) => (None, true),
        None => (None, false),
    };
    TestSettings {
        command,
        setup: tests.setup,
        timeout: tests.timeout_secs,
        network: tests.network,
        none,
        ..TestSettings::default()
    }
}

/// Reads the runner settings from the configuration.
pub(super) fn runner_settings(config: &Config) -> RunnerSettings {
    RunnerSettings {
        worker: format!("worker-{}", std::process::id()),
        lease: config.worker.lease_secs,
        open_network: config
            .agents
            .iter()
            .filter(|(_, agent)| agent.has_open_network())
            .map(|(name, _)| name.clone())
            .collect(),
        ..RunnerSettings::default()
    }
}

/// Creates the code index with its cache directory and git's history.
fn codebase(app: &App<'_>, sandbox: Sandbox) -> CodebaseContext {
    let codebase = match app.inputs.cache_dir() {
        Some(dir) => CodebaseContext::new(dir.join("index")),
        None => CodebaseContext::without_cache(),
    };
    codebase.with_history(GitHistory::new(sandbox))
}

/// Returns the directory for the clones of one store. Stores do not share it, because attempt numbers are unique only
/// within a store.
fn clones_dir(app: &App<'_>, store_url: &str) -> Result<PathBuf, CliError> {
    let state = app
        .inputs
        .state_dir()
        .ok_or_else(|| CliError::usage("no state directory: set HOME or XDG_STATE_HOME"))?;
    let hash = Sha256::digest(store_url.as_bytes());
    let name: String = hash
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(state.join("places").join(name))
}
