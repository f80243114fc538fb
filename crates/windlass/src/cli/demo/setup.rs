//! The repository, the agent and the directories of the demo.

use std::net::SocketAddr;
use std::path::PathBuf;

use tempfile::TempDir;
use windlass_core::AgentHandle;
use windlass_scripted::{RunningModel, Script, ScriptedModel};
use windlass_testkit::ScriptedAgent;

use crate::cli::app::App;
use crate::cli::exit::CliError;
use crate::cli::new_repository::NewGit;
use crate::cli::scripted;
use crate::registry;

/// The test command of the demo repository.
pub(super) const TEST_COMMAND: [&str; 2] = ["sh", "test.sh"];

/// The directory name of the repository.
const NAME: &str = "hello";

const FILES: [(&str, &str); 2] = [
    ("greet.sh", include_str!("greet.sh")),
    ("test.sh", include_str!("test.sh")),
];
const SCRIPT: &str = include_str!("script.json");

/// Everything that the demo needs. Dropping it removes the temporary directory.
pub(super) struct DemoSetup {
    dir: TempDir,
    pub(super) handle: AgentHandle,
    /// The scripted model of a real agent; dropping it stops the server.
    _model: Option<RunningModel>,
}

impl DemoSetup {
    /// Creates the repository, and the named agent or else the built-in scripted one.
    pub(super) async fn create(app: &App<'_>, agent: Option<&str>) -> Result<Self, CliError> {
        // Not in the usual directory for temporary files, because each sandboxed process has its own.
        let base = app
            .inputs
            .state_dir()
            .ok_or_else(|| CliError::usage("no state directory: set HOME or XDG_STATE_HOME"))?;
        let failed =
            |error: std::io::Error| CliError::failed(format!("{}: {error}", base.display()));
        std::fs::create_dir_all(&base).map_err(failed)?;
        let dir = tempfile::Builder::new().prefix("demo-").tempdir_in(&base);
        let dir = dir.map_err(failed)?;
        let sandbox = registry::sandbox(app.config()?)
            .await
            .map_err(CliError::failed)?;
        let repository = dir.path().join(NAME);
        std::fs::create_dir(&repository).map_err(failed)?;
        for (name, text) in FILES {
            std::fs::write(repository.join(name), text).map_err(failed)?;
        }
        let git = NewGit {
            sandbox: &sandbox,
            parent: dir.path(),
            name: NAME,
            objects: None,
        };
        git.init().await?;
        git.commit_all("Greet people by name").await?;
        let script = Script::parse(SCRIPT, "the demo's script")
            .map_err(|error| CliError::failed(error.to_string()))?;
        let (handle, model) = match agent {
            None => (AgentHandle::wrap(ScriptedAgent::new(script)), None),
            Some(name) => {
                let (handle, model) = scripted_agent(app, name, script).await?;
                (handle, Some(model))
            }
        };
        Ok(Self {
            dir,
            handle,
            _model: model,
        })
    }

    pub(super) fn repository(&self) -> PathBuf {
        self.dir.path().join(NAME)
    }

    pub(super) fn clones_dir(&self) -> PathBuf {
        self.dir.path().join("clones")
    }

    pub(super) fn store_url(&self) -> String {
        format!("sqlite:{}", self.dir.path().join("tasks.db").display())
    }

    /// Keeps the directory and returns the path of the repository.
    pub(super) fn into_path(self) -> PathBuf {
        self.dir.keep().join(NAME)
    }
}

/// Starts the scripted model and creates a real agent that uses it.
async fn scripted_agent(
    app: &App<'_>,
    name: &str,
    script: Script,
) -> Result<(AgentHandle, RunningModel), CliError> {
    let agent = app.find_agent(Some(name))?;
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let model = ScriptedModel::start(script, loopback).await;
    let model = model.map_err(|error| CliError::failed(error.to_string()))?;
    let handle = scripted::agent(&app.machine, &agent, &model.url())?;
    Ok((handle, model))
}
