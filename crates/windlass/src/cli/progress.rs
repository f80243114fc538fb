//! Prints the progress of running tasks on the terminal.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use windlass_core::permission::SessionApprover;
use windlass_core::{AgentEvent, escape_control};
use windlass_runner::{LandingListener, LandingReport, LandingResult, Listener};
use windlass_tasks::{Broadcast, TaskId, TaskStatus, TestStatus};

use super::console::{BAD, Console, GOOD, QUIET, WARNING};
use super::task::{event_line, result_line};

/// Maximum number of tasks with counted steps; a worker may run any number of tasks.
const MAX_TRACKED_TASKS: usize = 1024;

/// A listener that prints a line for each relevant event.
#[derive(Debug)]
pub(super) struct ProgressPrinter {
    console: Console,
    /// `true` if permission requests are answered at this terminal; the approver then also prints them.
    has_local_approver: bool,
    /// Number of model calls of each task so far.
    steps: Mutex<BTreeMap<TaskId, u64>>,
}

impl ProgressPrinter {
    pub(super) fn new(console: &Console) -> Self {
        Self {
            console: *console,
            has_local_approver: false,
            steps: Mutex::default(),
        }
    }

    /// Sets the approver that decides permission requests at this terminal, if there is one.
    pub(super) fn with_local_approver(mut self, approver: &SessionApprover) -> Self {
        self.has_local_approver = approver.0.is_some();
        self
    }

    /// Returns the number of model calls of a task; 0 if the agent does not report it.
    pub(super) fn steps(&self, task: TaskId) -> u64 {
        self.steps.lock().get(&task).copied().unwrap_or_default()
    }

    /// Counts a model call.
    fn count(&self, message: &Broadcast) {
        let Broadcast::AgentEvent { envelope, .. } = message else {
            return;
        };
        if let (AgentEvent::Custom { kind, .. }, Some(task)) = (&envelope.event, message.task_id())
            && kind == "step"
        {
            let mut steps = self.steps.lock();
            *steps.entry(task).or_default() += 1;
            if steps.len() > MAX_TRACKED_TASKS {
                steps.pop_first();
            }
        }
    }

    /// Formats a message, with the current step number. A permission request that is answered here has already been
    /// printed.
    fn line(&self, message: &Broadcast) -> Option<String> {
        let line = event_line(message)?;
        let Broadcast::AgentEvent { envelope, .. } = message else {
            return Some(line);
        };
        let step = message.task_id().map_or(0, |task| self.steps(task));
        match envelope.event {
            AgentEvent::ToolStart { .. } if step > 0 => Some(format!("step {step} {line}")),
            AgentEvent::PermissionRequest { .. } if self.has_local_approver => None,
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
                .progress(style, &format!("{task}needs input: run {command}"));
        }
    }
}

impl LandingListener for ProgressPrinter {
    fn on_landing(&self, report: &LandingReport) {
        let style = match report.result {
            LandingResult::Landed { .. } => GOOD,
            LandingResult::Returned { .. } => BAD,
            _ => QUIET,
        };
        let line = result_line(report.task, &report.target, &report.result);
        self.console.progress(style, &escape_control(&line));
        if let Some(undo) = report.result.undo() {
            self.console.progress(QUIET, &format!("to undo it: {undo}"));
        }
    }
}

impl Listener for ProgressPrinter {
    fn on_broadcast(&self, message: Broadcast) -> BoxFuture<'_, bool> {
        self.show(&message);
        Box::pin(std::future::ready(true))
    }
}

/// Returns the command with which the user answers this message, if it needs an answer.
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
