//! The trace of an attempt.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use windlass_core::{Clock, ErrorCode, Timestamp, TraceError, TraceIds, TraceNode, Usage};
use windlass_tasks::AttemptRef;

use super::AttemptContext;
use crate::{ResultStatus, Runner, TaskResult};

/// The spans so far. They outlive the work, so that the trace of a stopped attempt shows how far it got.
#[derive(Clone)]
pub(crate) struct AttemptTrace {
    clock: Arc<dyn Clock>,
    root: Arc<Mutex<TraceNode>>,
    started: Duration,
}

/// A running span. A span that is dropped unfinished is recorded as cancelled.
pub(crate) struct TraceSpan {
    trace: AttemptTrace,
    at: usize,
    started: Duration,
    finished: bool,
}

impl AttemptTrace {
    /// Creates a trace that starts with the claim, which was sent at `since`.
    pub(super) fn new(clock: Arc<dyn Clock>, since: Duration) -> Self {
        let took = millis(clock.elapsed().saturating_sub(since));
        let start = Timestamp(clock.now().0.saturating_sub(took));
        let claim = TraceNode {
            name: "claim".to_owned(),
            start,
            duration_ms: took,
            ..TraceNode::default()
        };
        let root = TraceNode {
            name: "attempt".to_owned(),
            start,
            children: vec![claim],
            ..TraceNode::default()
        };
        Self {
            started: since,
            root: Arc::new(Mutex::new(root)),
            clock,
        }
    }

    /// Starts a span.
    pub(crate) fn span(&self, name: &str) -> TraceSpan {
        let mut root = self.root.lock();
        root.children.push(TraceNode {
            name: name.to_owned(),
            start: self.clock.now(),
            ..TraceNode::default()
        });
        TraceSpan {
            at: root.children.len() - 1,
            started: self.clock.elapsed(),
            trace: self.clone(),
            finished: false,
        }
    }

    /// Records the agent of the attempt.
    pub(crate) fn set_agent(&self, agent: &str) {
        self.root.lock().agent = Some(agent.to_owned());
    }

    /// Returns the agent of the attempt.
    pub(super) fn agent(&self) -> Option<String> {
        self.root.lock().agent.clone()
    }

    /// Returns the complete tree.
    pub(super) fn close(&self, error: Option<TraceError>) -> TraceNode {
        let mut root = self.root.lock().clone();
        root.duration_ms = millis(self.clock.elapsed().saturating_sub(self.started));
        root.error = error;
        root
    }
}

impl TraceSpan {
    /// Finishes the span with the error of the result, if any.
    pub(crate) fn finish_with<T, E: std::fmt::Display>(self, result: &Result<T, E>) {
        match result {
            Ok(_) => self.finish(|_| {}),
            Err(error) => {
                let message = error.to_string();
                self.finish(|node| node.error = Some(backend_error(message)));
            }
        }
    }

    /// Finishes the span; `note` adds details to its node.
    pub(crate) fn finish(mut self, note: impl FnOnce(&mut TraceNode)) {
        self.finished = true;
        self.close(note);
    }

    fn close(&self, note: impl FnOnce(&mut TraceNode)) {
        let elapsed = self.trace.clock.elapsed();
        let mut root = self.trace.root.lock();
        if let Some(node) = root.children.get_mut(self.at) {
            node.duration_ms = millis(elapsed.saturating_sub(self.started));
            note(node);
        }
    }
}

impl Drop for TraceSpan {
    fn drop(&mut self) {
        if !self.finished {
            let message = "stopped before it finished".to_owned();
            self.close(|node| {
                node.error = Some(TraceError {
                    code: ErrorCode::Cancelled,
                    message,
                });
            });
        }
    }
}

impl AttemptContext<'_> {
    /// Stores the trace, without retries: an attempt is complete without its trace.
    pub(super) async fn save_trace(&self, result: &TaskResult, code: ErrorCode) {
        let error = match result.status {
            ResultStatus::Cancelled => Some(result.output.clone()),
            _ => result.error.clone(),
        };
        let error = error.map(|message| TraceError { code, message });
        let mut root = self.trace.close(error);
        root.usage = some_usage(&self.budget.usage());
        let id = trace_id(self.at);
        let put = self.runner.store.put_trace(id, Some(self.at.task), root);
        tokio::select! {
            biased;
            stored = put => if let Err(error) = stored {
                tracing::warn!(%error, "the trace was not stored");
            },
            () = self.runner.clock.sleep(self.runner.settings.heartbeat_interval()) => {}
        }
    }
}

/// Returns the id of an attempt's trace.
pub fn trace_id(at: AttemptRef) -> String {
    format!("task-{}-attempt-{}", at.task, at.number)
}

/// Returns what names an attempt in each line of the log. It is at the highest level, so that each level has its fields.
pub(super) fn attempt_span(runner: &Runner, at: AttemptRef) -> tracing::Span {
    let trace = trace_id(at);
    let store = runner.settings.store_id.as_deref();
    let ids = store.map(|store| TraceIds::new(store, &trace, None));
    tracing::error_span!(
        "attempt",
        task = at.task.get(),
        attempt = at.number,
        trace,
        trace_id = ids.as_ref().map(TraceIds::trace_id),
    )
}

/// Creates an error with the generic code.
pub(super) fn backend_error(message: String) -> TraceError {
    TraceError {
        code: ErrorCode::BackendError,
        message,
    }
}

/// Creates the error of a failed test run.
pub(super) fn test_failure(message: String) -> TraceError {
    TraceError {
        code: ErrorCode::ToolFailed,
        message,
    }
}

/// Returns the usage unless it is zero.
fn some_usage(usage: &Usage) -> Option<Usage> {
    (*usage != Usage::default()).then(|| usage.clone())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
