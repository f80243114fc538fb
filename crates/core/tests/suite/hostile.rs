//! A backend that does wrong whatever a test asks it to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use windlass_core::{
    AgentBackend, AgentEvent, BackendEvent, Capabilities, EventStream, Prompt, Result, SessionId,
    SessionOptions, ready_events,
};

/// How the turn goes on after the events that were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// The stream ends.
    End,
    /// Nothing comes any more.
    Hang,
    /// The stream panics.
    Panic,
    /// `prompt` itself never returns.
    NeverBegin,
    /// `prompt` itself panics.
    PanicAtOnce,
    /// The last event comes again and again, for ever.
    Flood,
}

#[derive(Debug, Clone)]
pub(crate) struct Hostile {
    pub(crate) events: Vec<AgentEvent>,
    pub(crate) then: Then,
    pub(crate) seen: Arc<Seen>,
}

/// What happened to the backend.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) cancels: AtomicUsize,
    pub(crate) dropped: AtomicUsize,
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
        panic!("asked what it can do")
    }

    fn new_session(&self, _: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        match self.then {
            Then::NeverBegin => futures::future::pending().boxed(),
            Then::PanicAtOnce => panic!("no session"),
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
            Then::NeverBegin => return futures::future::pending().boxed(),
            Then::PanicAtOnce => panic!("no turn"),
            Then::Flood => {
                let last = BackendEvent::from(events.last().cloned().unwrap());
                Box::pin(futures::stream::repeat(last))
            }
        };
        let alive = CountDrop(Arc::clone(&self.seen));
        async move {
            let stream = ready_events(events).chain(rest).map(move |emitted| {
                let _ = &alive;
                emitted
            });
            Ok(Box::pin(stream) as EventStream)
        }
        .boxed()
    }

    fn cancel<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        self.seen.cancels.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }.boxed()
    }
}
