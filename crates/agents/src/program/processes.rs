//! The processes of one scope: everything that an agent has started for one unit of work.

use std::sync::Arc;

use futures::future::join_all;
use parking_lot::Mutex;
use windlass_core::{Error, Result};
use windlass_sandbox::{Child, ChildControl, Output};

use super::agent_program::AgentProgram;
use super::find::not_started;
use super::launch::LaunchSpec;
use crate::AgentContext;
use crate::bridge::BridgeLease;

/// The processes that were started and may still run. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Processes {
    state: Arc<Mutex<ProcessesState>>,
}

#[derive(Debug, Default)]
struct ProcessesState {
    /// Each with what keeps its address of the bridge open.
    running: Vec<(ChildControl, Option<BridgeLease>)>,
    closed: bool,
}

impl Processes {
    /// Starts a process. Once the scope is closed, none is started.
    pub(crate) fn start(
        &self,
        program: &AgentProgram,
        context: &AgentContext,
        launch: LaunchSpec,
    ) -> Result<Child> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Error::Cancelled);
        }
        let started = context.sandbox().spawn(launch.spec);
        let child = started.map_err(|error| not_started(program, &error))?;
        state.running.retain(|(process, _)| !process.has_ended());
        state.running.push((child.control(), launch.lease));
        Ok(child)
    }

    /// Runs a command to its end and returns its output.
    pub(crate) async fn run(
        &self,
        program: &AgentProgram,
        context: &AgentContext,
        launch: LaunchSpec,
    ) -> Result<Output> {
        let mut child = self.start(program, context, launch)?;
        let ran = child.output().await;
        ran.map_err(|error| not_started(program, &error))
    }

    /// Stops all processes, and returns when each process tree is gone.
    pub(crate) async fn close(&self) {
        let running = {
            let mut state = self.state.lock();
            state.closed = true;
            std::mem::take(&mut state.running)
        };
        for (process, _) in &running {
            process.stop();
        }
        join_all(running.iter().map(|(process, _)| process.ended())).await;
    }
}
