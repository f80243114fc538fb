//! Who plays in a scenario.

use std::path::Path;
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_core::{AgentHandle, Error, Result};

use super::Scenario;
use crate::ScriptedAgent;

/// What a subject is told about the scenario that its agent will play.
#[derive(Debug, Clone, Copy)]
pub struct ScenarioContext<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Its file, from the folder that is run.
    pub file: &'a Path,
    /// Where it is played.
    pub workspace: &'a Path,
}

/// An agent that is ready for one scenario, with whatever must live as long as it.
pub struct PreparedAgent {
    /// The agent.
    pub handle: AgentHandle,
    /// What remains to be done when the scenario was played.
    pub end: Option<Cleanup>,
    /// A scripted model, for example. Dropped when the scenario is over.
    pub stage: Box<dyn std::any::Any + Send>,
}

/// Something to do at the end.
pub type Cleanup = Box<dyn FnOnce() -> Result<()> + Send>;

impl std::fmt::Debug for PreparedAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Staged")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

impl From<AgentHandle> for PreparedAgent {
    fn from(handle: AgentHandle) -> Self {
        Self {
            handle,
            end: None,
            stage: Box::new(()),
        }
    }
}

/// Whoever can play scenarios: an agent for each.
pub trait ScenarioSubject: Send + Sync {
    /// What it is called in reports.
    fn name(&self) -> String;

    /// Whether its agents change files, so that what a scenario says of files can be checked.
    fn changes_files(&self) -> bool {
        true
    }

    /// What a turn of its agents may take on top of the time that a scenario allows: a program has to start.
    fn extra_time(&self) -> Duration {
        Duration::ZERO
    }

    /// An agent for this scenario.
    fn prepare<'a>(&'a self, cast: ScenarioContext<'a>) -> BoxFuture<'a, Result<PreparedAgent>>;
}

/// The same agent for every scenario.
impl ScenarioSubject for AgentHandle {
    fn name(&self) -> String {
        AgentHandle::name(self).to_owned()
    }

    fn prepare<'a>(&'a self, _: ScenarioContext<'a>) -> BoxFuture<'a, Result<PreparedAgent>> {
        Box::pin(async { Ok(self.clone().into()) })
    }
}

/// Agents that play each scenario's script by themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScriptedSubject;

impl ScenarioSubject for ScriptedSubject {
    fn name(&self) -> String {
        "mock".to_owned()
    }

    fn prepare<'a>(&'a self, cast: ScenarioContext<'a>) -> BoxFuture<'a, Result<PreparedAgent>> {
        Box::pin(async move {
            let script = cast.scenario.script.clone().ok_or_else(|| {
                Error::InvalidInput(
                    "the scenario has no script, and a mock has nothing else to say".to_owned(),
                )
            })?;
            Ok(AgentHandle::wrap(ScriptedAgent::new(script)).into())
        })
    }
}
