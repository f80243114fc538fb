//! The last messages, written once for all who read live, bounded in number and in bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::ws::Utf8Bytes;
use tokio::sync::watch;
use windlass_core::escape_json;
use windlass_core::task::{LoggedEvent, ProjectId, TaskId};

use super::message::Subscription;
use crate::limits::ServerLimits;

/// A message as it goes over the wire.
#[derive(Debug)]
pub(crate) struct EncodedEvent {
    pub(crate) seq: u64,
    project: ProjectId,
    task: Option<TaskId>,
    pub(crate) text: Utf8Bytes,
}

impl EncodedEvent {
    /// Writes a message, once for all who read it.
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

/// How far the pump is, and how it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RingStatus {
    /// The number of the last message that is known here.
    pub(crate) last: u64,
    /// Why there may be more that is not known.
    pub(crate) stale: Option<Arc<str>>,
}

/// The last messages.
#[derive(Debug)]
pub(crate) struct Ring {
    held: Mutex<RingState>,
    news: watch::Sender<RingStatus>,
    most_events: usize,
    most_bytes: usize,
}

#[derive(Debug)]
struct RingState {
    items: VecDeque<Arc<EncodedEvent>>,
    bytes: usize,
    last: u64,
}

/// What the ring has for a reader.
#[derive(Debug)]
pub(crate) enum RingRead {
    /// Messages, and the number up to which there was nothing else for this reader.
    Events(Vec<Arc<EncodedEvent>>, u64),
    /// What comes next for the reader is no longer here: the oldest that is has this number.
    Evicted(u64),
}

impl Ring {
    /// An empty ring behind the message of this number.
    pub(crate) fn new(last: u64, limits: &ServerLimits) -> Self {
        Self {
            held: Mutex::new(RingState {
                items: VecDeque::new(),
                bytes: 0,
                last,
            }),
            news: watch::Sender::new(RingStatus { last, stale: None }),
            most_events: limits.ring_events.max(1),
            most_bytes: limits.ring_bytes,
        }
    }

    /// Hears of everything from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<RingStatus> {
        self.news.subscribe()
    }

    /// The number of the last message.
    pub(crate) fn last(&self) -> u64 {
        self.news.borrow().last
    }

    /// Adds messages, which follow the last one, and tells everybody.
    pub(crate) fn push(&self, events: &[LoggedEvent]) {
        let shown: Vec<Arc<EncodedEvent>> = events
            .iter()
            .map(|event| Arc::new(EncodedEvent::encode(event)))
            .collect();
        let mut held = self.lock();
        for item in shown {
            // Numbers have no gaps; after one, nothing older may be counted from here.
            if item.seq != held.last + 1 {
                held.items.clear();
                held.bytes = 0;
            }
            held.last = item.seq;
            held.bytes += item.text.len();
            held.items.push_back(item);
            while held.items.len() > self.most_events || held.bytes > self.most_bytes {
                match held.items.pop_front() {
                    Some(oldest) => held.bytes -= oldest.text.len(),
                    None => break,
                }
            }
        }
        let last = held.last;
        drop(held);
        self.news.send_modify(|news| news.last = last);
    }

    /// Says whether the store can be reached, where that has changed.
    pub(crate) fn set_stale(&self, stale: Option<&str>) {
        self.news.send_if_modified(|news| {
            let changed = news.stale.is_some() != stale.is_some();
            if changed {
                news.stale = stale.map(Arc::from);
            }
            changed
        });
    }

    /// What comes after a number for a reader, at most so many.
    pub(crate) fn read_after(&self, after: u64, wanted: &Subscription, most: usize) -> RingRead {
        let held = self.lock();
        let count = u64::try_from(held.items.len()).unwrap_or(u64::MAX);
        let first = held.last + 1 - count;
        if after >= held.last {
            return RingRead::Events(Vec::new(), after);
        }
        if after + 1 < first {
            return RingRead::Evicted(first);
        }
        let skip = usize::try_from(after + 1 - first).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        for item in held.items.iter().skip(skip) {
            if !wanted.matches(item.project, item.task) {
                continue;
            }
            if found.len() == most {
                return RingRead::Events(found, item.seq - 1);
            }
            found.push(Arc::clone(item));
        }
        RingRead::Events(found, held.last)
    }

    fn lock(&self) -> MutexGuard<'_, RingState> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::Timestamp;
    use windlass_core::task::Broadcast;

    use super::*;

    fn event(seq: u64, task: i64) -> LoggedEvent {
        LoggedEvent {
            seq,
            at: Timestamp(seq),
            message: Broadcast::ActivityUpdate {
                project_id: 1,
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
            .map(|seq| event(seq, i64::from(seq % 2 == 0)))
            .collect();
        ring.push(&all);
        ring
    }

    #[track_caller]
    fn check(ring: &Ring, after: u64, wanted: &Subscription, numbers: &[u64], upto: u64) {
        match ring.read_after(after, wanted, 3) {
            RingRead::Events(found, reached) => {
                let found: Vec<u64> = found.iter().map(|item| item.seq).collect();
                assert_eq!((found.as_slice(), reached), (numbers, upto));
            }
            RingRead::Evicted(first) => assert_eq!((numbers, first), (&[][..], upto), "gone"),
        }
    }

    #[test]
    fn readers_get_what_follows_their_number() {
        let all = Subscription::default();
        let even = Subscription {
            task: Some(1),
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
    fn p12_the_ring_is_bounded_in_number_and_in_bytes() {
        let all = Subscription::default();
        check(&ring(4, 1 << 20), 10, &all, &[], 17);
        check(&ring(4, 1 << 20), 16, &all, &[17, 18, 19], 19);
        let size = EncodedEvent::encode(&event(11, 1)).text.len();
        check(&ring(100, size * 2), 18, &all, &[19, 20], 20);
        check(&ring(100, 1), 19, &all, &[], 21);
    }
}
