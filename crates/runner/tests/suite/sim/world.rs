//! Everything put together: one repository, one store, one agent, and runners over them.

use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;
use windlass_core::task::{Broadcast, NewTask, Project, Task, TaskId, WorkerKind};
use windlass_core::{AgentHandle, Clock, Result};
use windlass_runner::{Bus, Runner, RunnerSettings, StopSignals, TaskResult};

use super::agent::{Act, Script, SimAgent, State};
use super::clock::SimClock;
use super::faults::{Faults, Rates};
use super::place::{Repo, SimContext, SimTests, SimWorkspace};
use super::store::SimStore;

/// Everything that a runner sees.
pub(crate) struct World {
    pub(crate) clock: Arc<SimClock>,
    pub(crate) store: Arc<SimStore>,
    pub(crate) repo: Arc<Repo>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) agent: Arc<Mutex<State>>,
    script: Script,
    tools: bool,
}

impl World {
    /// A world in which nothing goes wrong but what the agent does by itself. Must be made in a paused runtime.
    pub(crate) fn calm(acts: &[Act]) -> Self {
        let acts = acts.to_vec();
        let last = *acts.last().unwrap_or(&Act::Nothing);
        let script = Arc::new(move |turn: usize| acts.get(turn).copied().unwrap_or(last));
        Self::new(1, Rates::default(), script, true)
    }

    /// The same world, with an agent that gives files back instead of editing.
    pub(crate) fn generating(mut self) -> Self {
        self.tools = false;
        self
    }

    pub(crate) fn new(seed: u64, rates: Rates, script: Script, tools: bool) -> Self {
        let clock = Arc::new(SimClock::new());
        let faults = Arc::new(Faults::new(seed, rates));
        let steady = Arc::clone(&clock) as Arc<dyn Clock>;
        let store = Arc::new(SimStore::new(Arc::clone(&steady), Arc::clone(&faults)));
        let now = store.now();
        store.look().projects.push(Project {
            id: 1,
            name: "project".to_owned(),
            root: "/project".into(),
            created_at: now.wall,
        });
        Self {
            repo: Arc::new(Repo::new(steady, Arc::clone(&faults))),
            agent: Arc::default(),
            clock,
            store,
            faults,
            script,
            tools,
        }
    }

    /// Puts a task into the store, past all faults.
    pub(crate) fn add(&self, new: NewTask) -> Task {
        let now = self.store.now();
        let added = self.store.look().enqueue(vec![new], now).unwrap();
        added[0].task.clone()
    }

    /// Puts a task with this title into the store.
    pub(crate) fn task(&self, title: &str) -> Task {
        self.add(NewTask::new(1, title))
    }

    /// A task as it stands.
    pub(crate) fn now(&self, id: TaskId) -> Task {
        self.store.look().row(id).unwrap().task.clone()
    }

    pub(crate) fn runner(&self, settings: RunnerSettings) -> Runner {
        let agent = SimAgent::handle(
            &self.repo,
            Arc::clone(&self.script),
            self.tools,
            &self.agent,
        );
        let find =
            move |_: Option<&str>, _: WorkerKind| -> Result<AgentHandle> { Ok(agent.clone()) };
        Runner {
            store: Arc::clone(&self.store) as _,
            workspace: Arc::new(SimWorkspace(Arc::clone(&self.repo))),
            verifier: Arc::new(SimTests(Arc::clone(&self.repo))),
            context: Arc::new(SimContext),
            agents: Arc::new(find),
            clock: Arc::clone(&self.clock) as _,
            bus: Bus::disabled(),
            settings,
        }
    }

    /// Works on a task once, and gives what watchers were told.
    pub(crate) async fn watch(
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
        let mut told = Vec::new();
        while let Some(message) = receiver.recv().await {
            told.push(message);
        }
        (result, told)
    }

    /// Works on a task once.
    pub(crate) async fn run(&self, task: &Task) -> TaskResult {
        self.watch(task, RunnerSettings::default()).await.0
    }

    /// The prompts that the agent has seen.
    pub(crate) fn prompts(&self) -> Vec<String> {
        self.agent.lock().unwrap().prompts.clone()
    }
}
