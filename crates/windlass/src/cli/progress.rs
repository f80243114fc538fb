//! Tasks as they are worked on, told on the terminal.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use windlass_core::AgentEvent;
use windlass_core::permission::SessionApprover;
use windlass_core::task::{Broadcast, TaskId, TaskStatus, TestStatus};
use windlass_runner::Listener;

use super::console::{BAD, Console, GOOD, QUIET, WARNING};
use super::task::event_line;

/// Of how many tasks the steps are known; a worker has any number of them.
const MAX_TRACKED_TASKS: usize = 1024;

/// Writes a line for everything that a person may want to know.
#[derive(Debug)]
pub(super) struct ProgressPrinter {
    console: Console,
    /// Whether questions are asked at this terminal, by whoever then also shows them.
    asks_here: bool,
    /// How many steps of a model each task took so far.
    steps: Mutex<BTreeMap<TaskId, u64>>,
}

impl ProgressPrinter {
    pub(super) fn new(console: &Console) -> Self {
        Self {
            console: *console,
            asks_here: false,
            steps: Mutex::default(),
        }
    }

    /// The same, where this is who decides about permissions.
    pub(super) fn with_local_approver(mut self, approver: &SessionApprover) -> Self {
        self.asks_here = approver.0.is_some();
        self
    }

    /// How many times a model was asked for a task; 0 for an agent that does not say.
    pub(super) fn steps(&self, task: TaskId) -> u64 {
        self.counted().get(&task).copied().unwrap_or_default()
    }

    fn counted(&self) -> MutexGuard<'_, BTreeMap<TaskId, u64>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the steps of a model.
    fn count(&self, message: &Broadcast) {
        let Broadcast::AgentEvent { envelope, .. } = message else {
            return;
        };
        if let (AgentEvent::Custom { kind, .. }, Some(task)) = (&envelope.event, message.task_id())
            && kind == "step"
        {
            let mut counted = self.counted();
            *counted.entry(task).or_default() += 1;
            if counted.len() > MAX_TRACKED_TASKS {
                counted.pop_first();
            }
        }
    }

    /// The line with what only a watcher knows: which step it is. A question that is asked here has been shown already.
    fn line(&self, message: &Broadcast) -> Option<String> {
        let line = event_line(message)?;
        let Broadcast::AgentEvent { envelope, .. } = message else {
            return Some(line);
        };
        let step = message.task_id().map_or(0, |task| self.steps(task));
        match envelope.event {
            AgentEvent::ToolStart { .. } if step > 0 => Some(format!("step {step} {line}")),
            AgentEvent::PermissionRequest { .. } if self.asks_here => None,
            _ => Some(line),
        }
    }

    fn show(&self, message: &Broadcast) {
        self.count(message);
        let Some(line) = self.line(message) else {
            return;
        };
        let style = match message {
            Broadcast::TaskStatus { status, .. } => match status {
                TaskStatus::Completed => GOOD,
                TaskStatus::Failed => BAD,
                TaskStatus::Blocked | TaskStatus::Cancelled => WARNING,
                _ => QUIET,
            },
            Broadcast::TestResult { status, .. } => match status {
                TestStatus::Passed => GOOD,
                _ => BAD,
            },
            Broadcast::CorrectionAttempt { .. } => WARNING,
            Broadcast::AgentEvent { envelope, .. } => match envelope.event {
                AgentEvent::Error { .. } => BAD,
                AgentEvent::PermissionRequest { .. } => WARNING,
                _ => QUIET,
            },
            _ => QUIET,
        };
        let task = message.task_id().map(|task| format!("task {task}  "));
        let task = task.unwrap_or_default();
        self.console.progress(style, &format!("{task}{line}"));
        if let Some(command) = next_command(message) {
            self.console
                .progress(style, &format!("{task}waits for you: {command}"));
        }
    }
}

impl Listener for ProgressPrinter {
    fn on_broadcast(&self, message: Broadcast) -> BoxFuture<'_, bool> {
        self.show(&message);
        Box::pin(std::future::ready(true))
    }
}

/// The command for a person whom this waits for.
fn next_command(message: &Broadcast) -> Option<&'static str> {
    match message {
        Broadcast::TaskStatus {
            status: TaskStatus::Blocked,
            ..
        } => Some("windlass blockers"),
        Broadcast::AgentEvent { envelope, .. }
            if matches!(envelope.event, AgentEvent::PermissionRequest { .. }) =>
        {
            Some("windlass approvals")
        }
        _ => None,
    }
}
