//! A backend that misbehaves as the test requires.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use windlass_core::{
    AgentBackend, AgentEvent, BackendEvent, Capabilities, EventStream, Prompt, Result, SessionId,
    SessionOptions, ready_events,
};

/// What happens after the given events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// The stream ends.
    End,
    /// No more events arrive.
    Hang,
    /// The stream panics.
    Panic,
    /// `prompt` itself never returns.
    NeverStart,
    /// `prompt` itself panics.
    PanicImmediately,
    /// The last event is repeated forever.
    Flood,
}

#[derive(Debug, Clone)]
pub(crate) struct Hostile {
    pub(crate) events: Vec<AgentEvent>,
    pub(crate) then: Then,
    pub(crate) seen: Arc<Seen>,
}

/// Counters of calls to the backend.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) cancels: AtomicUsize,
    pub(crate) dropped: AtomicUsize,
    /// The events that were taken from the stream.
    pub(crate) events: AtomicUsize,
}

impl Hostile {
    pub(crate) fn new(events: Vec<AgentEvent>, then: Then) -> Self {
        Self {
            events,
            then,
            seen: Arc::default(),
        }
    }
}

struct CountDrop(Arc<Seen>);

impl Drop for CountDrop {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl AgentBackend for Hostile {
    fn name(&self) -> &'static str {
        "hostile"
    }

    fn capabilities(&self) -> Capabilities {
        panic!("no capabilities")
    }

    fn new_session(&self, _: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        match self.then {
            Then::NeverStart => futures::future::pending().boxed(),
            Then::PanicImmediately => panic!("no session"),
            _ => async { Ok("s".into()) }.boxed(),
        }
    }

    fn load_session<'a>(
        &'a self,
        _: &'a SessionId,
        _: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        async { Ok(()) }.boxed()
    }

    fn prompt<'a>(&'a self, _: &'a SessionId, _: Prompt) -> BoxFuture<'a, Result<EventStream>> {
        let events = self.events.clone();
        let rest: EventStream = match self.then {
            Then::End => Box::pin(futures::stream::empty()),
            Then::Hang => Box::pin(futures::stream::pending()),
            Then::Panic => Box::pin(futures::stream::once(async { panic!("in the middle") })),
            Then::NeverStart => return futures::future::pending().boxed(),
            Then::PanicImmediately => panic!("no turn"),
            Then::Flood => {
                let last = BackendEvent::from(events.last().cloned().unwrap());
                Box::pin(futures::stream::repeat(last))
            }
        };
        let alive = CountDrop(Arc::clone(&self.seen));
        async move {
            let stream = ready_events(events).chain(rest).map(move |event| {
                alive.0.events.fetch_add(1, Ordering::SeqCst);
                event
            });
            Ok(Box::pin(stream) as EventStream)
        }
        .boxed()
    }

    fn cancel<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        self.seen.cancels.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }.boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        match self.then {
            Then::Hang => futures::future::pending().boxed(),
            Then::Panic => async { panic!("at the end") }.boxed(),
            _ => async {}.boxed(),
        }
    }
}
