//! The repository, the agent and the places of the demo.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use windlass_core::AgentHandle;
use windlass_gateway::{RunningModel, Script, ScriptedModel};
use windlass_sandbox::{CommandSpec, Profile, Sandbox};
use windlass_testkit::ScriptedAgent;

use crate::cli::app::App;
use crate::cli::exit::CliError;
use crate::cli::scripted;
use crate::registry;

/// How the demo's program is tested.
pub(super) const TEST_COMMAND: [&str; 2] = ["sh", "test.sh"];

/// The name of the repository.
const NAME: &str = "hello";

const FILES: [(&str, &str); 2] = [
    ("greet.sh", include_str!("greet.sh")),
    ("test.sh", include_str!("test.sh")),
];
const SCRIPT: &str = include_str!("script.json");

/// Everything that the demo needs, gone when it is.
pub(super) struct DemoSetup {
    folder: TempDir,
    pub(super) handle: AgentHandle,
    /// The model that a real agent asks.
    _model: Option<RunningModel>,
}

impl DemoSetup {
    /// Makes the repository, and the agent that is named or else our own.
    pub(super) async fn create(app: &App<'_>, agent: Option<&str>) -> Result<Self, CliError> {
        // Not in the usual folder for such things: that one is private to every process in a sandbox.
        let base = app.inputs.state_dir().ok_or_else(|| {
            CliError::usage("there is no place for the demo: set HOME or XDG_STATE_HOME")
        })?;
        let failed =
            |error: std::io::Error| CliError::failed(format!("{}: {error}", base.display()));
        std::fs::create_dir_all(&base).map_err(failed)?;
        let folder = tempfile::Builder::new().prefix("demo-").tempdir_in(&base);
        let folder = folder.map_err(failed)?;
        let sandbox = registry::sandbox(&app.inputs)
            .await
            .map_err(CliError::failed)?;
        let repository = folder.path().join(NAME);
        std::fs::create_dir(&repository).map_err(failed)?;
        for (name, text) in FILES {
            std::fs::write(repository.join(name), text).map_err(failed)?;
        }
        commit(&sandbox, folder.path()).await?;
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
            folder,
            handle,
            _model: model,
        })
    }

    pub(super) fn repository(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }

    pub(super) fn clones_dir(&self) -> PathBuf {
        self.folder.path().join("places")
    }

    pub(super) fn store_url(&self) -> String {
        format!("sqlite:{}", self.folder.path().join("tasks.db").display())
    }

    /// Leaves the repository where it is.
    pub(super) fn into_path(self) -> PathBuf {
        let kept = self.folder.keep();
        kept.join(NAME)
    }
}

/// A real agent whose model says what the script says.
async fn scripted_agent(
    app: &App<'_>,
    name: &str,
    script: Script,
) -> Result<(AgentHandle, RunningModel), CliError> {
    let config = app.config()?;
    let agent = app.find_agent(&config, Some(name))?;
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let model = ScriptedModel::start(script, loopback).await;
    let model = model.map_err(|error| CliError::failed(error.to_string()))?;
    let handle = scripted::agent(&app.machine, &agent, &model.url())?;
    Ok((handle, model))
}

/// Makes a repository of the folder's subfolder, with one commit. From outside of it: inside, the sandbox lets nobody
/// make a repository.
async fn commit(sandbox: &Sandbox, folder: &Path) -> Result<(), CliError> {
    let steps: [&[&str]; 3] = [
        &["init", "--quiet", "--initial-branch=main"],
        &["add", "--all"],
        &[
            "-c",
            "user.name=Windlass",
            "-c",
            "user.email=windlass@localhost",
            "commit",
            "--quiet",
            "--message=Greet people by name",
        ],
    ];
    for step in steps {
        let spec = CommandSpec::new("git", folder, Profile::tool())
            .args(["-C", NAME])
            .args(step.iter().copied())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .deadline(Duration::from_secs(60));
        let output = sandbox.run(spec).await;
        let output = output.map_err(|error| CliError::failed(format!("git: {error}")))?;
        if !output.exit.success() {
            let said = output.stderr.text();
            return Err(CliError::failed(format!(
                "git {}: {}",
                step[0],
                said.trim()
            )));
        }
    }
    Ok(())
}
