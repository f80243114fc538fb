//! The test harness: one repository, one store, one agent, and runners that use them.

use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;
use windlass_core::{AgentHandle, Clock, Result};
use windlass_runner::{Bus, HeldLeases, Runner, RunnerSettings, StopSignals, TaskResult};
use windlass_tasks::{Broadcast, NewTask, Project, ProjectId, Task, TaskId, WorkerKind};

use super::agent::{Action, AgentState, Script, SimAgent};
use super::clock::SimClock;
use super::faults::{Faults, Rates};
use super::repo::{Repo, SimContext, SimTests, SimWorkspace};
use super::store::SimStore;

/// The simulated environment of a runner.
pub(crate) struct Harness {
    pub(crate) clock: Arc<SimClock>,
    pub(crate) store: Arc<SimStore>,
    pub(crate) repo: Arc<Repo>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) agent: Arc<Mutex<AgentState>>,
    script: Script,
    tools: bool,
}

impl Harness {
    /// Creates an environment without faults, except for what the agent does. Must be called in a paused
    /// runtime.
    pub(crate) fn with_actions(actions: &[Action]) -> Self {
        let actions = actions.to_vec();
        let last = *actions.last().unwrap_or(&Action::NoChange);
        let script = Arc::new(move |turn: usize| actions.get(turn).copied().unwrap_or(last));
        Self::new(1, Rates::default(), script, true)
    }

    /// Makes the agent return files instead of editing with tools.
    pub(crate) fn without_tools(mut self) -> Self {
        self.tools = false;
        self
    }

    pub(crate) fn new(seed: u64, rates: Rates, script: Script, tools: bool) -> Self {
        let clock = Arc::new(SimClock::new());
        let faults = Arc::new(Faults::new(seed, rates));
        let dyn_clock = Arc::clone(&clock) as Arc<dyn Clock>;
        let store = Arc::new(SimStore::new(Arc::clone(&dyn_clock), Arc::clone(&faults)));
        let now = store.now();
        store.memory().projects.push(Project::new(
            ProjectId::from(1),
            "project",
            "/project".into(),
            now.wall,
        ));
        Self {
            repo: Arc::new(Repo::new(dyn_clock, Arc::clone(&faults))),
            agent: Arc::default(),
            clock,
            store,
            faults,
            script,
            tools,
        }
    }

    /// Adds a task to the store, without faults.
    pub(crate) fn add(&self, new: NewTask) -> Task {
        let now = self.store.now();
        let added = self.store.memory().enqueue(vec![new], now).unwrap();
        added[0].task.clone()
    }

    /// Adds a task with this title to the store.
    pub(crate) fn add_task(&self, title: &str) -> Task {
        self.add(NewTask::new(ProjectId::from(1), title))
    }

    /// Returns the current state of a task.
    pub(crate) fn task(&self, id: impl Into<TaskId>) -> Task {
        let id = id.into();
        self.store.memory().row(id).unwrap().task.clone()
    }

    pub(crate) fn runner(&self, settings: RunnerSettings) -> Runner {
        let agent = SimAgent::handle(
            &self.repo,
            Arc::clone(&self.script),
            self.tools,
            &self.agent,
        );
        let resolve =
            move |_: Option<&str>, _: WorkerKind| -> Result<AgentHandle> { Ok(agent.clone()) };
        Runner {
            store: Arc::clone(&self.store) as _,
            workspace: Arc::new(SimWorkspace(Arc::clone(&self.repo))),
            verifier: Arc::new(SimTests(Arc::clone(&self.repo))),
            context: Arc::new(SimContext),
            agents: Arc::new(resolve),
            clock: Arc::clone(&self.clock) as _,
            bus: Bus::disabled(),
            settings,
            leases: HeldLeases::default(),
        }
    }

    /// Runs a task once, and returns the result and the broadcasts.
    pub(crate) async fn run_with(
        &self,
        task: &Task,
        settings: RunnerSettings,
    ) -> (TaskResult, Vec<Broadcast>) {
        let (sender, mut receiver) = mpsc::channel(1000);
        let mut runner = self.runner(settings);
        runner.bus = Bus::new(Arc::new(sender), runner.clock.clone());
        let result = runner
            .execute_task(task, StopSignals::default())
            .await
            .unwrap();
        drop(runner);
        let mut broadcasts = Vec::new();
        while let Some(message) = receiver.recv().await {
            broadcasts.push(message);
        }
        (result, broadcasts)
    }

    /// Runs a task once with the default settings.
    pub(crate) async fn run(&self, task: &Task) -> TaskResult {
        self.run_with(task, RunnerSettings::default()).await.0
    }

    /// Returns the prompts that the agent received.
    pub(crate) fn prompts(&self) -> Vec<String> {
        self.agent.lock().unwrap().prompts.clone()
    }
}
