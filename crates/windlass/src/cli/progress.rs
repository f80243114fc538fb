//! Tasks as they are worked on, told on the terminal.

use futures::future::BoxFuture;
use windlass_core::AgentEvent;
use windlass_core::task::{Broadcast, TaskStatus, TestStatus};
use windlass_runner::Listener;

use super::console::{BAD, Console, GOOD, QUIET, WARNING};
use super::task::event_line;

/// Writes a line for everything that a person may want to know.
#[derive(Debug)]
pub(super) struct Progress {
    console: Console,
}

impl Progress {
    pub(super) fn new(console: &Console) -> Self {
        Self { console: *console }
    }

    fn show(&self, message: &Broadcast) {
        let Some(line) = event_line(message) else {
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
        if let Some(command) = way_on(message) {
            self.console
                .progress(style, &format!("{task}waits for you: {command}"));
        }
    }
}

impl Listener for Progress {
    fn hear(&self, message: Broadcast) -> BoxFuture<'_, bool> {
        self.show(&message);
        Box::pin(std::future::ready(true))
    }
}

/// The command for a person whom this waits for.
fn way_on(message: &Broadcast) -> Option<&'static str> {
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
