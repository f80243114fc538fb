//! A stream that is recorded while it is read.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::{Stream, StreamExt};
use serde_json::json;
use windlass_core::{AgentEvent, BackendEvent, Clock, Error, ErrorCode, EventStream};

use super::log::SharedLog;

/// Records the events of one turn. If it is dropped before the end, it records that the turn was
/// interrupted or that the backend panicked.
pub(super) struct TurnRecorder {
    turn: usize,
    start: Duration,
    log: SharedLog,
    clock: Arc<dyn Clock>,
    open: Vec<OpenTool>,
    /// Whether the backend is being polled: if that never returns, the backend panicked.
    polling: bool,
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
        log: &SharedLog,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        Self {
            turn,
            start,
            log: Arc::clone(log),
            clock: Arc::clone(clock),
            open: Vec::new(),
            polling: false,
            done: false,
        }
    }

    /// Wraps the stream so that it is recorded.
    pub(super) fn wrap(self, stream: EventStream) -> EventStream {
        Box::pin(RecordedStream {
            stream,
            recorder: self,
            ready: VecDeque::new(),
        })
    }

    fn offset(&self) -> Duration {
        self.clock.elapsed().saturating_sub(self.start)
    }

    /// Records an event and forwards it, after the ends of tools that it leaves open.
    ///
    /// The handle would add those ends and measure tools without a duration, each by its own clock.
    /// Here they become part of the recording, so that every replay has the same ones.
    fn record(&mut self, mut emitted: BackendEvent, ready: &mut VecDeque<BackendEvent>) {
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
                let index = self.open.iter().position(|tool| tool.id == *id);
                let since = index.map_or(at, |index| self.open.remove(index).since);
                if *duration_ms == 0 {
                    *duration_ms = elapsed_ms(at, since);
                }
            }
            event if event.is_terminal() => {
                self.done = true;
                for tool in std::mem::take(&mut self.open) {
                    let end = tool.into_end(at);
                    self.log.lock().event(self.turn, at, &end);
                    ready.push_back(end.into());
                }
            }
            _ => {}
        }
        self.log.lock().event(self.turn, at, &emitted.event);
        ready.push_back(emitted);
    }
}

impl OpenTool {
    fn into_end(self, now: Duration) -> AgentEvent {
        AgentEvent::ToolEnd {
            id: self.id,
            name: self.name,
            output: json!({ "error": "the turn ended before the tool did" }),
            success: false,
            duration_ms: elapsed_ms(now, self.since),
        }
    }
}

/// At least one, because a handle treats zero as unknown.
fn elapsed_ms(now: Duration, since: Duration) -> u64 {
    let millis = now.saturating_sub(since).as_millis();
    u64::try_from(millis).unwrap_or(u64::MAX).max(1)
}

impl Drop for TurnRecorder {
    fn drop(&mut self) {
        let at = self.offset();
        let mut log = self.log.lock();
        if self.polling || std::thread::panicking() {
            let panic = Error::agent(ErrorCode::BackendError, "the backend panicked");
            log.event(self.turn, at, &panic.into());
        } else if !self.done {
            log.interrupt(self.turn, at);
        }
        log.end(self.turn);
    }
}

struct RecordedStream {
    stream: EventStream,
    recorder: TurnRecorder,
    ready: VecDeque<BackendEvent>,
}

impl Stream for RecordedStream {
    type Item = BackendEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<BackendEvent>> {
        let this = &mut *self;
        if let Some(emitted) = this.ready.pop_front() {
            return Poll::Ready(Some(emitted));
        }
        this.recorder.polling = true;
        let next = this.stream.poll_next_unpin(cx);
        this.recorder.polling = false;
        match ready!(next) {
            Some(emitted) => this.recorder.record(emitted, &mut this.ready),
            // A stream that ends without a terminal event has ended too.
            None => this.recorder.done = true,
        }
        Poll::Ready(this.ready.pop_front())
    }
}
