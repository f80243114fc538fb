//! Sends the events of a turn from inside a backend.

use std::future::ready;

use futures::{StreamExt, stream};
use tokio::sync::mpsc;

use crate::{BackendEvent, EventStream};

/// How many events a turn may be ahead of its reader. It waits when there are more.
const EVENT_QUEUE: usize = 16;

/// The sender of a turn's events. See [`event_stream`].
#[derive(Debug, Clone)]
pub struct EventSink(mpsc::Sender<BackendEvent>);

impl EventSink {
    /// Sends an event, and waits while the reader is too far behind.
    ///
    /// If the reader is gone the event is lost: the turn is about to be dropped too.
    pub async fn send(&self, event: impl Into<BackendEvent>) {
        let _ = self.0.send(event.into()).await;
    }
}

/// Creates the events of a turn from a future that sends them.
///
/// The future runs inside the stream: it makes progress while the stream is read, and dropping the stream
/// drops it. So a backend needs no task, and nothing of a stopped turn remains.
///
/// ```
/// use futures::StreamExt;
/// use windlass_core::{AgentEvent, event_stream};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let events = event_stream(|sink| async move {
///     sink.send(AgentEvent::Text("haul ".to_owned())).await;
///     sink.send(AgentEvent::Text("away".to_owned())).await;
///     sink.send(AgentEvent::result("haul away")).await;
/// });
/// let events: Vec<AgentEvent> = events.map(|event| event.event).collect().await;
/// assert_eq!(events.len(), 3);
/// # }
/// ```
pub fn event_stream<F>(turn: impl FnOnce(EventSink) -> F) -> EventStream
where
    F: Future<Output = ()> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(EVENT_QUEUE);
    let work = stream::once(turn(EventSink(sender))).filter_map(|()| ready(None));
    let events = stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|event| (event, receiver))
    });
    Box::pin(stream::select(events, work))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::AgentEvent;

    #[tokio::test]
    async fn a_turn_waits_for_its_reader_and_ends_with_its_stream() {
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let mut events = event_stream(|sink| async move {
            let _held = held;
            for number in 0.. {
                sink.send(AgentEvent::Text(number.to_string())).await;
            }
        });
        for number in 0..3 * EVENT_QUEUE {
            let event = events.next().await.map(|event| event.event);
            assert_eq!(event, Some(AgentEvent::Text(number.to_string())));
        }
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(events);
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[tokio::test]
    async fn the_stream_ends_when_the_turn_ends() {
        let events = event_stream(|sink| async move {
            let late = sink.clone();
            sink.send(AgentEvent::Text("a".to_owned())).await;
            late.send(AgentEvent::result("b")).await;
        });
        let events: Vec<_> = events.map(|event| event.event).collect().await;
        let expected = [AgentEvent::Text("a".to_owned()), AgentEvent::result("b")];
        assert_eq!(events, expected);
    }
}
