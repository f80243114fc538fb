//! Sends spans to the collector in the background: in batches, with a bounded queue in front.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use windlass_agents::http::{JsonPoster, PostReply};
use windlass_core::{Backoff, ExposeSecret as _, SecretString, SpanCounts, TraceNode};

use super::otlp::{self, OtlpSpan};

/// Maximum number of spans that wait. Further ones are dropped.
const MAX_WAITING: usize = 8_192;
/// Maximum number of traces that wait.
const MAX_TRACES: usize = 1_024;
/// Maximum number of spans in a request, and of spans of one trace.
const MAX_BATCH: usize = 512;
const MAX_TRACE_SPANS: usize = 4_096;
/// How long a request waits for more spans.
const BATCH_DELAY: Duration = Duration::from_secs(2);
/// Delays between tries, and how long a request is tried.
const RETRY_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
const MAX_RETRY_AFTER: Duration = Duration::from_secs(120);
const MAX_RETRY_TIME: Duration = Duration::from_secs(300);

/// A trace that was stored.
#[derive(Debug)]
pub(super) struct StoredTrace {
    pub(super) store: String,
    pub(super) id: String,
    pub(super) root: TraceNode,
}

/// The traces that wait for the exporter.
#[derive(Debug)]
pub(super) struct ExportQueue {
    sender: mpsc::Sender<StoredTrace>,
    waiting: Arc<AtomicUsize>,
    pub(super) counts: Arc<SpanCounts>,
}

/// The exporter's side of the queue.
#[derive(Debug)]
pub(super) struct ReceivedTraces {
    receiver: mpsc::Receiver<StoredTrace>,
    waiting: Arc<AtomicUsize>,
}

impl ExportQueue {
    pub(super) fn new() -> (Self, ReceivedTraces) {
        let (sender, receiver) = mpsc::channel(MAX_TRACES);
        let waiting = Arc::new(AtomicUsize::new(0));
        let queue = Self {
            sender,
            waiting: Arc::clone(&waiting),
            counts: Arc::default(),
        };
        (queue, ReceivedTraces { receiver, waiting })
    }

    /// Adds a trace, or drops it if too much waits. Never waits.
    pub(super) fn push(&self, trace: StoredTrace) {
        let count = otlp::count(&trace.root);
        let kept = count.min(MAX_TRACE_SPANS);
        let before = self.waiting.fetch_add(kept, Ordering::Relaxed);
        if before.saturating_add(kept) > MAX_WAITING || self.sender.try_send(trace).is_err() {
            self.waiting.fetch_sub(kept, Ordering::Relaxed);
            self.counts.add_dropped(count);
        } else {
            self.counts.add_dropped(count - kept);
        }
    }
}

/// Sends spans to a collector.
#[derive(Debug)]
pub(super) struct Exporter {
    pub(super) collector: JsonPoster,
    pub(super) headers: Vec<(String, SecretString)>,
    /// The name of the service in the collector.
    pub(super) service: String,
    pub(super) counts: Arc<SpanCounts>,
    pub(super) received: ReceivedTraces,
    /// The program ends.
    pub(super) stop: CancellationToken,
    /// The last request failed. It was logged then, and is not logged again.
    pub(super) is_failing: bool,
}

/// What to do after a request.
#[derive(Debug)]
enum Delivery {
    /// The collector has the spans, except this many.
    Done { rejected: usize },
    /// It will never accept them.
    Refused(String),
    /// It may accept them later, after this time if it said so.
    Later(String, Option<Duration>),
    /// It does not answer.
    Unreachable(String),
}

impl Exporter {
    /// Sends spans until the program ends, then what is left.
    pub(super) async fn run(mut self) {
        while let Some(spans) = self.next_spans().await {
            self.received
                .waiting
                .fetch_sub(spans.len(), Ordering::Relaxed);
            for batch in spans.chunks(MAX_BATCH) {
                self.send(batch).await;
            }
        }
    }

    /// Waits for a trace, and for those that follow soon. Returns `None` when no more can come.
    async fn next_spans(&mut self) -> Option<Vec<OtlpSpan>> {
        let stop = self.stop.clone();
        let receiver = &mut self.received.receiver;
        let first = tokio::select! {
            biased;
            first = receiver.recv() => first,
            () = stop.cancelled() => {
                receiver.close();
                receiver.try_recv().ok()
            }
        };
        let mut spans = self.spans_of(&first?);
        let end = Instant::now() + BATCH_DELAY;
        while spans.len() < MAX_BATCH {
            let next = tokio::select! {
                biased;
                next = self.received.receiver.recv() => next,
                () = stop.cancelled() => self.received.receiver.try_recv().ok(),
                () = tokio::time::sleep_until(end) => None,
            };
            let Some(next) = next else {
                break;
            };
            spans.extend(self.spans_of(&next));
        }
        Some(spans)
    }

    fn spans_of(&self, trace: &StoredTrace) -> Vec<OtlpSpan> {
        let spans = otlp::spans(&trace.store, &trace.id, &trace.root, MAX_TRACE_SPANS);
        // Of a trace that its caller does not record.
        let omitted = otlp::count(&trace.root).min(MAX_TRACE_SPANS) - spans.len();
        self.received.waiting.fetch_sub(omitted, Ordering::Relaxed);
        spans
    }

    /// Sends a batch, and tries again while that may help. The end of the program waits for a collector that answers, but not
    /// for another one.
    async fn send(&mut self, batch: &[OtlpSpan]) {
        let Ok(body) = otlp::export_request(&self.service, batch) else {
            self.counts.add_dropped(batch.len());
            return;
        };
        let started = Instant::now();
        let mut tries = 0;
        loop {
            let is_last = self.stop.is_cancelled();
            let (why, after, answers) = match self.post(body.clone()).await {
                Delivery::Done { rejected } => {
                    let rejected = rejected.min(batch.len());
                    self.counts.add_exported(batch.len() - rejected);
                    self.counts.add_dropped(rejected);
                    if std::mem::take(&mut self.is_failing) {
                        tracing::info!("the collector accepts spans again");
                    }
                    return;
                }
                Delivery::Refused(why) => {
                    self.log_failure(&why);
                    break;
                }
                Delivery::Later(why, after) => (why, after, true),
                Delivery::Unreachable(why) => (why, None, false),
            };
            self.log_failure(&why);
            let delay = after.map_or_else(
                || RETRY_BACKOFF.delay(tries),
                |after| after.min(MAX_RETRY_AFTER),
            );
            if is_last && !answers || started.elapsed() + delay > MAX_RETRY_TIME {
                break;
            }
            tries += 1;
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = self.stop.cancelled(), if !is_last => {}
            }
        }
        self.counts.add_dropped(batch.len());
    }

    async fn post(&self, body: String) -> Delivery {
        let headers = self.headers.iter();
        let headers: Vec<(&str, String)> = headers
            .map(|(name, value)| (name.as_str(), value.expose_secret().to_owned()))
            .collect();
        match self.collector.post(&headers, body).await {
            Ok(reply) => delivery(&reply),
            Err(why) => Delivery::Unreachable(why),
        }
    }

    fn log_failure(&mut self, why: &str) {
        if !std::mem::replace(&mut self.is_failing, true) {
            tracing::warn!(
                why,
                "spans are not accepted by the collector; this is logged once"
            );
        }
    }
}

/// Reads the collector's answer. The statuses after which a client tries again are those of the protocol.
fn delivery(reply: &PostReply) -> Delivery {
    match reply.status {
        200..=299 => {
            let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
            let rejected = &body["partialSuccess"]["rejectedSpans"];
            // A 64-bit number is a text in this encoding; some collectors send a number.
            let rejected = rejected
                .as_str()
                .and_then(|text| text.parse().ok())
                .or(rejected.as_u64());
            let rejected = usize::try_from(rejected.unwrap_or(0)).unwrap_or(usize::MAX);
            Delivery::Done { rejected }
        }
        429 | 502..=504 => {
            Delivery::Later(format!("it answered {}", reply.status), reply.retry_after)
        }
        status => Delivery::Refused(format!("it answered {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(spans: usize) -> StoredTrace {
        StoredTrace {
            store: "0badcafe".to_owned(),
            id: "task-1-attempt-1".to_owned(),
            root: TraceNode {
                children: vec![TraceNode::default(); spans - 1],
                ..TraceNode::default()
            },
        }
    }

    #[test]
    fn full_queue_drops_and_counts() {
        let (queue, received) = ExportQueue::new();
        queue.push(trace(4_000));
        queue.push(trace(4_000));
        assert_eq!(queue.counts.dropped(), 0);
        queue.push(trace(200));
        assert_eq!(queue.counts.dropped(), 200);
        queue.push(trace(100));
        assert_eq!((queue.counts.dropped(), received.receiver.len()), (200, 3));
        drop(received);
        queue.push(trace(10));
        assert_eq!(queue.counts.dropped(), 210);
    }

    #[test]
    fn part_of_a_huge_trace_is_kept() {
        let (queue, received) = ExportQueue::new();
        queue.push(trace(MAX_TRACE_SPANS + 5));
        assert_eq!((queue.counts.dropped(), received.receiver.len()), (5, 1));
    }

    #[test]
    fn collector_decides_whether_a_request_is_repeated() {
        let reply = |status, retry_after, body: &str| {
            delivery(&PostReply {
                status,
                retry_after,
                body: body.as_bytes().to_vec(),
            })
        };
        assert!(matches!(
            reply(200, None, "{}"),
            Delivery::Done { rejected: 0 }
        ));
        assert!(matches!(
            reply(200, None, "not JSON"),
            Delivery::Done { rejected: 0 }
        ));
        let partial = r#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"no"}}"#;
        assert!(matches!(
            reply(200, None, partial),
            Delivery::Done { rejected: 3 }
        ));
        let wait = Some(Duration::from_secs(7));
        for status in [429, 502, 503, 504] {
            assert!(matches!(reply(status, wait, ""), Delivery::Later(_, after) if after == wait));
        }
        for status in [301, 400, 401, 404, 413, 500] {
            assert!(
                matches!(reply(status, wait, ""), Delivery::Refused(_)),
                "{status}"
            );
        }
    }
}
