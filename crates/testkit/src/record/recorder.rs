//! A stream that is written down while it is read.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::{Stream, StreamExt};
use serde_json::json;
use windlass_core::{AgentEvent, BackendEvent, Clock, Error, ErrorCode, EventStream};

use super::log::{SharedLog, lock};

/// Writes down the events of one turn. Dropped before the end, it notes that the turn was broken off, or
/// that the backend panicked.
pub(super) struct TurnRecorder {
    turn: usize,
    start: Duration,
    transcript: SharedLog,
    clock: Arc<dyn Clock>,
    open: Vec<OpenTool>,
    /// Whether the backend is being asked: one that never answers has panicked.
    asking: bool,
    done: bool,
}

struct OpenTool {
    id: String,
    name: String,
    since: Duration,
}

impl TurnRecorder {
    pub(super) fn new(
        turn: usize,
        start: Duration,
        transcript: &SharedLog,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        Self {
            turn,
            start,
            transcript: Arc::clone(transcript),
            clock: Arc::clone(clock),
            open: Vec::new(),
            asking: false,
            done: false,
        }
    }

    /// The stream, written down.
    pub(super) fn wrap(self, stream: EventStream) -> EventStream {
        Box::pin(RecordedStream {
            stream,
            tap: self,
            ready: VecDeque::new(),
        })
    }

    fn offset(&self) -> Duration {
        self.clock.elapsed().saturating_sub(self.start)
    }

    /// Writes an event down and passes it on, after the ends of tools that it leaves open.
    ///
    /// The handle would supply those ends and measure tools that say no time, each by its own clock. Here
    /// they get into the recording, so that every replay has the same ones.
    fn take(&mut self, mut emitted: BackendEvent, ready: &mut VecDeque<BackendEvent>) {
        let at = self.offset();
        match &mut emitted.event {
            AgentEvent::ToolStart { id, name, .. } => self.open.push(OpenTool {
                id: id.clone(),
                name: name.clone(),
                since: at,
            }),
            AgentEvent::ToolEnd {
                id, duration_ms, ..
            } => {
                let place = self.open.iter().position(|tool| tool.id == *id);
                let since = place.map_or(at, |place| self.open.remove(place).since);
                if *duration_ms == 0 {
                    *duration_ms = measured(at, since);
                }
            }
            event if event.is_terminal() => {
                self.done = true;
                for tool in std::mem::take(&mut self.open) {
                    let end = tool.unfinished(at);
                    lock(&self.transcript).event(self.turn, at, &end);
                    ready.push_back(end.into());
                }
            }
            _ => {}
        }
        lock(&self.transcript).event(self.turn, at, &emitted.event);
        ready.push_back(emitted);
    }
}

impl OpenTool {
    fn unfinished(self, now: Duration) -> AgentEvent {
        AgentEvent::ToolEnd {
            id: self.id,
            name: self.name,
            output: json!({ "error": "the turn ended before the tool did" }),
            success: false,
            duration_ms: measured(now, self.since),
        }
    }
}

/// At least one: a handle takes zero for "not said".
fn measured(now: Duration, since: Duration) -> u64 {
    let millis = now.saturating_sub(since).as_millis();
    u64::try_from(millis).unwrap_or(u64::MAX).max(1)
}

impl Drop for TurnRecorder {
    fn drop(&mut self) {
        let at = self.offset();
        let mut transcript = lock(&self.transcript);
        if self.asking || std::thread::panicking() {
            let panic = Error::agent(ErrorCode::BackendError, "the backend panicked");
            transcript.event(self.turn, at, &panic.into());
        } else if !self.done {
            transcript.interrupt(self.turn, at);
        }
    }
}

struct RecordedStream {
    stream: EventStream,
    tap: TurnRecorder,
    ready: VecDeque<BackendEvent>,
}

impl Stream for RecordedStream {
    type Item = BackendEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<BackendEvent>> {
        let this = &mut *self;
        if let Some(emitted) = this.ready.pop_front() {
            return Poll::Ready(Some(emitted));
        }
        this.tap.asking = true;
        let next = this.stream.poll_next_unpin(cx);
        this.tap.asking = false;
        match ready!(next) {
            Some(emitted) => this.tap.take(emitted, &mut this.ready),
            // An end without a terminal event is an end too.
            None => this.tap.done = true,
        }
        Poll::Ready(this.ready.pop_front())
    }
}
