//! The agents that run scenarios.

use std::path::Path;
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_core::{AgentHandle, Error, Result};
use windlass_scripted::Script;

use super::Scenario;
use crate::ScriptedAgent;

/// The scenario that a subject has to prepare an agent for.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ScenarioContext<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Its file, relative to the directory that is run.
    pub file: &'a Path,
    /// The directory in which it runs.
    pub workspace: &'a Path,
}

/// An agent that is ready for one scenario, with everything that must live as long as it.
pub struct PreparedAgent {
    /// The agent.
    pub handle: AgentHandle,
    /// What remains to be done after the scenario.
    pub end: Option<Cleanup>,
    /// For example, a scripted model. Dropped when the scenario is over.
    pub stage: Box<dyn std::any::Any + Send>,
}

/// An action at the end of a scenario.
pub type Cleanup = Box<dyn FnOnce() -> Result<()> + Send>;

impl std::fmt::Debug for PreparedAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedAgent")
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

/// Provides an agent for each scenario.
pub trait ScenarioSubject: Send + Sync {
    /// Returns the name used in reports.
    fn name(&self) -> String;

    /// Returns whether its agents change files, so that file assertions can be checked.
    fn changes_files(&self) -> bool {
        true
    }

    /// Returns the time that a turn of its agents may take in addition to the scenario's limit: a
    /// program has to start.
    fn extra_time(&self) -> Duration {
        Duration::ZERO
    }

    /// Creates an agent for this scenario.
    fn prepare<'a>(&'a self, context: ScenarioContext<'a>) -> BoxFuture<'a, Result<PreparedAgent>>;
}

/// Uses the same agent for every scenario.
impl ScenarioSubject for AgentHandle {
    fn name(&self) -> String {
        AgentHandle::name(self).to_owned()
    }

    fn prepare<'a>(&'a self, _: ScenarioContext<'a>) -> BoxFuture<'a, Result<PreparedAgent>> {
        Box::pin(async { Ok(self.clone().into()) })
    }
}

/// Agents that play each scenario's script themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScriptedSubject;

impl ScenarioSubject for ScriptedSubject {
    fn name(&self) -> String {
        "mock".to_owned()
    }

    fn prepare<'a>(&'a self, context: ScenarioContext<'a>) -> BoxFuture<'a, Result<PreparedAgent>> {
        Box::pin(async move {
            let script = context.scenario.script.clone().ok_or_else(|| {
                Error::InvalidInput(
                    "the scenario has no script, which a mock needs: add one to it, or pass --script FILE"
                        .to_owned(),
                )
            })?;
            Ok(AgentHandle::wrap(ScriptedAgent::new(script)).into())
        })
    }
}

/// A subject that uses a given script for scenarios that have none.
pub struct WithScript {
    script: Script,
    subject: Box<dyn ScenarioSubject>,
}

impl WithScript {
    /// Creates a subject from another one and the script.
    pub fn new(script: Script, subject: Box<dyn ScenarioSubject>) -> Self {
        Self { script, subject }
    }
}

impl std::fmt::Debug for WithScript {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WithScript")
            .field("subject", &self.subject.name())
            .finish_non_exhaustive()
    }
}

impl ScenarioSubject for WithScript {
    fn name(&self) -> String {
        self.subject.name()
    }

    fn changes_files(&self) -> bool {
        self.subject.changes_files()
    }

    fn extra_time(&self) -> Duration {
        self.subject.extra_time()
    }

    fn prepare<'a>(&'a self, context: ScenarioContext<'a>) -> BoxFuture<'a, Result<PreparedAgent>> {
        if context.scenario.script.is_some() {
            return self.subject.prepare(context);
        }
        Box::pin(async move {
            let scenario = Scenario {
                script: Some(self.script.clone()),
                ..context.scenario.clone()
            };
            let context = ScenarioContext {
                scenario: &scenario,
                ..context
            };
            self.subject.prepare(context).await
        })
    }
}
