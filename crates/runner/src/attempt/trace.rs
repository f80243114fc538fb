//! What an attempt went through, step by step.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windlass_core::{Clock, ErrorCode, Timestamp, TraceError, TraceNode, Usage};

/// The steps so far. They outlive the work, so that an attempt that was stopped shows where it stood.
#[derive(Clone)]
pub(crate) struct AttemptTrace {
    clock: Arc<dyn Clock>,
    root: Arc<Mutex<TraceNode>>,
    began: Duration,
}

/// A step under way. One that is dropped unfinished was stopped.
pub(crate) struct TraceSpan {
    trace: AttemptTrace,
    at: usize,
    began: Duration,
    finished: bool,
}

impl AttemptTrace {
    /// A trace that begins with the claim, which was sent at this time.
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
            began: since,
            root: Arc::new(Mutex::new(root)),
            clock,
        }
    }

    /// Begins a step.
    pub(crate) fn span(&self, name: &str) -> TraceSpan {
        let mut root = self.lock();
        root.children.push(TraceNode {
            name: name.to_owned(),
            start: self.clock.now(),
            ..TraceNode::default()
        });
        TraceSpan {
            at: root.children.len() - 1,
            began: self.clock.elapsed(),
            trace: self.clone(),
            finished: false,
        }
    }

    /// Says whose attempt it is.
    pub(crate) fn set_agent(&self, agent: &str) {
        self.lock().agent = Some(agent.to_owned());
    }

    /// The whole tree, closed.
    pub(super) fn close(&self, error: Option<TraceError>) -> TraceNode {
        let mut root = self.lock().clone();
        root.duration_ms = millis(self.clock.elapsed().saturating_sub(self.began));
        root.error = error;
        root
    }

    fn lock(&self) -> MutexGuard<'_, TraceNode> {
        self.root.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TraceSpan {
    /// Ends the step as its result says.
    pub(crate) fn finish_with<T, E: std::fmt::Display>(self, result: &Result<T, E>) {
        match result {
            Ok(_) => self.finish(|_| {}),
            Err(error) => {
                let message = error.to_string();
                self.finish(|node| node.error = Some(backend_error(message)));
            }
        }
    }

    /// Ends the step with what is to be known of it.
    pub(crate) fn finish(mut self, note: impl FnOnce(&mut TraceNode)) {
        self.finished = true;
        self.close(note);
    }

    fn close(&self, note: impl FnOnce(&mut TraceNode)) {
        let elapsed = self.trace.clock.elapsed();
        let mut root = self.trace.lock();
        if let Some(node) = root.children.get_mut(self.at) {
            node.duration_ms = millis(elapsed.saturating_sub(self.began));
            note(node);
        }
    }
}

impl Drop for TraceSpan {
    fn drop(&mut self) {
        if !self.finished {
            let message = "stopped before its end".to_owned();
            self.close(|node| {
                node.error = Some(TraceError {
                    code: ErrorCode::Cancelled,
                    message,
                });
            });
        }
    }
}

/// A fault without a better code.
pub(super) fn backend_error(message: String) -> TraceError {
    TraceError {
        code: ErrorCode::BackendError,
        message,
    }
}

/// Only what was consumed, where anything was.
pub(super) fn some_usage(usage: &Usage) -> Option<Usage> {
    (*usage != Usage::default()).then(|| usage.clone())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
