//! Creates the runner with the clones, tests and code index of this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use windlass_core::{Clock, Masker, SystemClock};
use windlass_index::CodebaseContext;
use windlass_runner::{
    AgentResolver, Bus, CommitSettings, ConflictPolicy, HeldLeases, Lander, LandingSettings,
    Listener, Runner, RunnerSettings,
};
use windlass_sandbox::Sandbox;
use windlass_tasks::{LandingSite, LandingStrategy, ProjectId, TaskStore, Workspace};
use windlass_workspace::{Clones, Judge, Retention, TestRunner, TestSettings};

use super::app::App;
use super::exit::CliError;
use super::masking::{self, MaskedVerifier};
use super::queue::OpenQueue;
use super::remote::{RemoteProjects, RemoteSite, RemoteWorkspace};
use crate::config::{AutoLand, Config, LandStrategy, TestCommand};
use crate::git_history::GitHistory;
use crate::git_settings::GitSettings;
use crate::registry;

/// What attempts, merges and proofs need in addition to a store and agents.
pub(super) struct TaskRuntime {
    pub(super) clones: Clones,
    clones_dir: PathBuf,
    pub(super) tests: TestRunner,
    codebase: CodebaseContext,
    masker: Masker,
    /// The id of the store, in the names of branches.
    store_id: Option<String>,
    /// The projects with a remote. `None` without a store.
    remotes: Option<RemoteProjects>,
}

impl TaskRuntime {
    /// Creates a runtime for the store of this queue, with its own directory for clones.
    pub(super) async fn for_store(
        app: &App<'_>,
        queue: &OpenQueue,
        tests: TestSettings,
    ) -> Result<Self, CliError> {
        let clones = clones_dir(app, &queue.url)?;
        let runtime = Self::in_dir(app, clones, tests).await?;
        let id = queue.store.store_id().await?;
        let changes = &queue.config.changes;
        let retention = Retention {
            max_age: Duration::from_secs(u64::from(changes.keep_days) * 24 * 60 * 60),
            max_count: changes.keep_count,
        };
        Ok(Self {
            clones: runtime.clones.with_store(&id).with_retention(retention),
            remotes: Some(RemoteProjects {
                store: Arc::clone(&queue.store),
                store_id: id.clone(),
                mirrors: queue.machine.mirrors.clone().unwrap_or_default(),
            }),
            store_id: Some(id),
            ..runtime
        })
    }

    /// Tells the user about uncommitted edits in the project, which no task sees. It is an error if there is no commit.
    pub(super) async fn note_uncommitted_edits(
        &self,
        app: &App<'_>,
        root: &Path,
    ) -> windlass_workspace::Result<()> {
        let edited = self.clones.uncommitted_edits(root).await?;
        if edited > 0 {
            let files = match edited {
                1 => "1 file has".to_owned(),
                many => format!("{many} files have"),
            };
            app.console.notice(&format!(
                "{files} uncommitted edits, which no task sees: it starts from the last commit"
            ));
        }
        Ok(())
    }

    /// Creates a runtime with its clones in this directory.
    pub(super) async fn in_dir(
        app: &App<'_>,
        clones: PathBuf,
        tests: TestSettings,
    ) -> Result<Self, CliError> {
        let sandbox = registry::sandbox(app.config()?).await;
        let sandbox = sandbox.map_err(CliError::failed)?;
        let clones_dir = clones.clone();
        let clones = Clones::new(sandbox.clone(), clones).map_err(windlass_core::Error::from)?;
        let copied = app.config()?.workspace.copy.clone();
        let mut tests = TestRunner::new(sandbox.clone(), tests);
        if let Some(state) = app.inputs.state_dir() {
            tests = tests.with_setup_store(state.join("setup"));
        }
        let git_settings = GitSettings::read(&app.inputs.cwd).await;
        let clones = match git_settings.author() {
            Some((name, email)) => clones.with_author(name, email),
            None => clones,
        };
        Ok(Self {
            clones: clones.with_copied_files(copied.unwrap_or_default()),
            clones_dir,
            tests,
            codebase: codebase(app, sandbox),
            masker: masking::masker(&app.inputs, &Config::load(&app.inputs)?),
            store_id: None,
            remotes: None,
        })
    }

    /// Returns the directory that contains the clones.
    pub(super) fn clones_dir(&self) -> &Path {
        &self.clones_dir
    }

    /// Returns where attempts work: in clones of the checkouts of this machine, or of mirrors of remotes.
    pub(super) fn workspace(&self) -> Arc<dyn Workspace> {
        let clones = self.clones.clone();
        match self.remotes.clone() {
            Some(remotes) => Arc::new(RemoteWorkspace { clones, remotes }),
            None => Arc::new(clones),
        }
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
            workspace: self.workspace(),
            verifier: Arc::new(MaskedVerifier {
                verifier: Judge::new(self.clones.clone(), self.tests.clone()),
                masker: self.masker.clone(),
            }),
            context: Arc::new(self.codebase.clone()),
            agents,
            clock,
            bus,
            settings: RunnerSettings {
                store_id: self.store_id.clone(),
                ..settings
            },
            leases: HeldLeases::default(),
        }
    }

    /// Creates what lands changes, of one project or of all.
    pub(super) fn lander(
        &self,
        runner: Arc<Runner>,
        config: &Config,
        project: Option<ProjectId>,
    ) -> Lander {
        let clones = self.clones.clone();
        let site: Arc<dyn LandingSite> = match self.remotes.clone() {
            Some(remotes) => Arc::new(RemoteSite { clones, remotes }),
            None => Arc::new(clones),
        };
        Lander {
            runner,
            site,
            settings: landing_settings(config),
            project,
        }
    }
}

/// Reads the settings of landings from the configuration.
fn landing_settings(config: &Config) -> LandingSettings {
    LandingSettings {
        strategy: match config.land.strategy {
            LandStrategy::Merge => LandingStrategy::Merge,
            LandStrategy::Rebase => LandingStrategy::Rebase,
        },
        batch: config.land.batch,
        max_returns: config.land.max_returns,
        needs_review: config.review.agent.is_some(),
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
        commit: CommitSettings {
            template: config.commit.template.clone(),
            co_author: config.commit.co_author.clone(),
        },
        auto_land: config.land.auto == AutoLand::Proved,
        conflicts: if config.tasks.conflicts == "ask" {
            ConflictPolicy::Ask
        } else {
            ConflictPolicy::Agent
        },
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
    store_dir(app, "places", store_url)
}

/// Returns a directory in the state directory that only this store uses.
pub(super) fn store_dir(app: &App<'_>, kind: &str, store_url: &str) -> Result<PathBuf, CliError> {
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
    Ok(state.join(kind).join(name))
}
