//! The newest events, encoded once for all live subscribers, bounded in number and in bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::sync::watch;
use utoipa::IntoParams;
use windlass_core::escape_json;
use windlass_tasks::{EventFilter, LoggedEvent, ProjectId, TaskId};

use crate::limits::ServerLimits;

/// The subscription in the query of the WebSocket's URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subscription {
    /// Only events of this project.
    #[param(value_type = Option<i64>)]
    pub(crate) project: Option<ProjectId>,
    /// Only events of this task.
    #[param(value_type = Option<i64>)]
    pub(crate) task: Option<TaskId>,
    /// Sends all events after this sequence number; without it, only new events.
    pub(crate) after: Option<u64>,
    /// The projects that the subscriber can see; `None` means all. Set by the server only.
    #[serde(skip)]
    #[param(ignore)]
    pub(crate) visible: Option<Vec<ProjectId>>,
}

impl Subscription {
    /// Returns `true` if an event belongs to the subscription.
    pub(crate) fn matches(&self, project: ProjectId, task: Option<TaskId>) -> bool {
        let visible = self.visible.as_ref();
        visible.is_none_or(|visible| visible.contains(&project))
            && self.project.is_none_or(|wanted| wanted == project)
            && self.task.is_none_or(|wanted| Some(wanted) == task)
    }

    /// Converts to a filter for the store.
    pub(crate) fn filter(&self, after: u64, limit: u32) -> EventFilter {
        EventFilter {
            project_id: self.project,
            task_id: self.task,
            after,
            limit,
            ..EventFilter::default()
        }
    }
}

/// An event in its encoded form.
#[derive(Debug)]
pub(crate) struct EncodedEvent {
    pub(crate) seq: u64,
    project: ProjectId,
    task: Option<TaskId>,
    pub(crate) text: Utf8Bytes,
}

impl EncodedEvent {
    /// Encodes an event.
    pub(crate) fn encode(event: &LoggedEvent) -> Self {
        let text = serde_json::to_string(event).unwrap_or_default();
        Self {
            seq: event.seq,
            project: event.message.project_id(),
            task: event.message.task_id(),
            text: Utf8Bytes::from(escape_json(&text).into_owned()),
        }
    }
}

/// The status of the pump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RingStatus {
    /// The sequence number of the last known event.
    pub(crate) last: u64,
    /// Why there may be more events that are not known.
    pub(crate) stale: Option<Arc<str>>,
}

/// The newest events.
#[derive(Debug)]
pub(crate) struct Ring {
    inner: Mutex<RingState>,
    status: watch::Sender<RingStatus>,
    max_events: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct RingState {
    items: VecDeque<Arc<EncodedEvent>>,
    bytes: usize,
    last: u64,
}

/// The result of reading the ring.
#[derive(Debug)]
pub(crate) enum RingRead {
    /// Events, and the sequence number up to which there are no others for this subscriber.
    Events(Vec<Arc<EncodedEvent>>, u64),
    /// The next event for the subscriber was evicted; the oldest remaining one has this sequence number.
    Evicted(u64),
}

impl Ring {
    /// Returns the number of subscribers.
    pub(crate) fn subscribers(&self) -> usize {
        self.status.receiver_count()
    }

    /// Creates an empty ring after the event with this sequence number.
    pub(crate) fn new(last: u64, limits: &ServerLimits) -> Self {
        Self {
            inner: Mutex::new(RingState {
                items: VecDeque::new(),
                bytes: 0,
                last,
            }),
            status: watch::Sender::new(RingStatus { last, stale: None }),
            max_events: limits.ring_events.max(1),
            max_bytes: limits.ring_bytes,
        }
    }

    /// Subscribes to changes of the status.
    pub(crate) fn subscribe(&self) -> watch::Receiver<RingStatus> {
        self.status.subscribe()
    }

    /// Returns the sequence number of the last event.
    pub(crate) fn last(&self) -> u64 {
        self.status.borrow().last
    }

    /// Appends events, which follow the last one, and notifies all subscribers.
    pub(crate) fn push(&self, events: &[LoggedEvent]) {
        let encoded: Vec<Arc<EncodedEvent>> = events
            .iter()
            .map(|event| Arc::new(EncodedEvent::encode(event)))
            .collect();
        let mut inner = self.inner.lock();
        for item in encoded {
            // Sequence numbers have no gaps. After a gap, older events can no longer be located by their
            // number.
            if item.seq != inner.last + 1 {
                inner.items.clear();
                inner.bytes = 0;
            }
            inner.last = item.seq;
            inner.bytes += item.text.len();
            inner.items.push_back(item);
            while inner.items.len() > self.max_events || inner.bytes > self.max_bytes {
                match inner.items.pop_front() {
                    Some(oldest) => inner.bytes -= oldest.text.len(),
                    None => break,
                }
            }
        }
        let last = inner.last;
        drop(inner);
        self.status.send_modify(|status| status.last = last);
    }

    /// Sets whether the store can be reached. Notifies only if this changes.
    pub(crate) fn set_stale(&self, stale: Option<&str>) {
        self.status.send_if_modified(|status| {
            let changed = status.stale.is_some() != stale.is_some();
            if changed {
                status.stale = stale.map(Arc::from);
            }
            changed
        });
    }

    /// Returns the events after a sequence number for a subscription, at most `limit`.
    pub(crate) fn read_after(
        &self,
        after: u64,
        subscription: &Subscription,
        limit: usize,
    ) -> RingRead {
        let inner = self.inner.lock();
        let count = u64::try_from(inner.items.len()).unwrap_or(u64::MAX);
        let first = inner.last + 1 - count;
        if after >= inner.last {
            return RingRead::Events(Vec::new(), after);
        }
        if after + 1 < first {
            return RingRead::Evicted(first);
        }
        let skip = usize::try_from(after + 1 - first).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        for item in inner.items.iter().skip(skip) {
            if !subscription.matches(item.project, item.task) {
                continue;
            }
            if found.len() == limit {
                return RingRead::Events(found, item.seq - 1);
            }
            found.push(Arc::clone(item));
        }
        RingRead::Events(found, inner.last)
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::Timestamp;
    use windlass_tasks::Broadcast;

    use super::*;

    fn event(seq: u64, task: TaskId) -> LoggedEvent {
        LoggedEvent {
            seq,
            at: Timestamp(seq),
            message: Broadcast::ActivityUpdate {
                project_id: ProjectId::from(1),
                activity_type: "note".to_owned(),
                agent_id: "worker".to_owned(),
                message: "x".repeat(100),
                task_id: Some(task),
            },
        }
    }

    fn ring(events: usize, bytes: usize) -> Ring {
        let limits = ServerLimits {
            ring_events: events,
            ring_bytes: bytes,
            ..ServerLimits::default()
        };
        let ring = Ring::new(10, &limits);
        let all: Vec<LoggedEvent> = (11..=20)
            .map(|seq| event(seq, TaskId::from(i64::from(seq % 2 == 0))))
            .collect();
        ring.push(&all);
        ring
    }

    #[track_caller]
    fn check(ring: &Ring, after: u64, subscription: &Subscription, numbers: &[u64], upto: u64) {
        match ring.read_after(after, subscription, 3) {
            RingRead::Events(found, reached) => {
                let found: Vec<u64> = found.iter().map(|item| item.seq).collect();
                assert_eq!((found.as_slice(), reached), (numbers, upto));
            }
            RingRead::Evicted(first) => assert_eq!((numbers, first), (&[][..], upto), "evicted"),
        }
    }

    #[test]
    fn subscriber_gets_the_events_after_its_number() {
        let all = Subscription::default();
        let even = Subscription {
            task: Some(TaskId::from(1)),
            ..Subscription::default()
        };
        let ring = ring(100, 1 << 20);
        check(&ring, 10, &all, &[11, 12, 13], 13);
        check(&ring, 18, &all, &[19, 20], 20);
        check(&ring, 20, &all, &[], 20);
        check(&ring, 99, &all, &[], 99);
        check(&ring, 9, &all, &[], 11);
        check(&ring, 10, &even, &[12, 14, 16], 17);
        check(&ring, 17, &even, &[18, 20], 20);
    }

    #[test]
    fn p12_ring_is_bounded_in_number_and_in_bytes() {
        let all = Subscription::default();
        check(&ring(4, 1 << 20), 10, &all, &[], 17);
        check(&ring(4, 1 << 20), 16, &all, &[17, 18, 19], 19);
        let size = EncodedEvent::encode(&event(11, TaskId::from(1))).text.len();
        check(&ring(100, size * 2), 18, &all, &[19, 20], 20);
        check(&ring(100, 1), 19, &all, &[], 21);
    }
}
