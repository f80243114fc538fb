//! Numbers for monitoring, in the text format of Prometheus, and the state of the store for probes.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::Mutex;
use tokio::time::Instant;
use windlass_tasks::{
    AccessStore, AttemptStatus, HistogramCounts, LATENCY_BOUNDS_MS, LatencyHistogram, StoreResult,
    StoreTotals, TaskStatus, TaskStore,
};

use crate::error::is_below;
use crate::git::is_git;

/// How long the numbers of the store are not read again: they need all tasks.
const TOTALS_AGE: Duration = Duration::from_secs(10);
/// For how many times as long as reading them took they are not read again, at least: in a store with a long history, the
/// database then spends a fiftieth of its time on them.
const TOTALS_REST: u32 = 50;
/// How long the answer of the store to a probe is valid, so that probes do not load it.
const PROBE_AGE: Duration = Duration::from_secs(1);
/// How long the store may take to answer a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The kinds of requests.
const KINDS: [&str; 5] = ["api", "mcp", "model", "page", "git"];

/// What is counted in this process.
#[derive(Debug, Default)]
pub(crate) struct ServerMetrics {
    /// By kind of request: until the headers of the response.
    latency: [LatencyHistogram; KINDS.len()],
    /// By kind of request, and the first digit of the status.
    responses: [[AtomicU64; 6]; KINDS.len()],
    /// With the time until which they are valid.
    totals: Mutex<Option<(Instant, StoreTotals)>>,
    probe: Mutex<Option<(Instant, bool)>>,
}

impl ServerMetrics {
    /// Counts a response.
    pub(crate) fn observe(&self, path: &str, status: StatusCode, latency: Duration) {
        let kind = kind(path);
        if let Some(histogram) = self.latency.get(kind) {
            histogram.observe(latency);
        }
        let class = usize::from(status.as_u16() / 100);
        let count = self.responses.get(kind).and_then(|kind| kind.get(class));
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns `true` if the store answers.
    pub(crate) async fn is_ready(&self, store: &dyn TaskStore) -> bool {
        let mut probe = self.probe.lock().await;
        if let Some((at, is_ready)) = *probe
            && at.elapsed() < PROBE_AGE
        {
            return is_ready;
        }
        let read = store.wait_for_events(0, Duration::ZERO);
        let read = tokio::time::timeout(PROBE_TIMEOUT, read).await;
        let is_ready = matches!(read, Ok(Ok(_)));
        *probe = Some((Instant::now(), is_ready));
        is_ready
    }

    /// Returns the numbers of the store, which may be some seconds old, or some minutes with millions of tasks.
    pub(crate) async fn totals(&self, store: &dyn AccessStore) -> StoreResult<StoreTotals> {
        let mut known = self.totals.lock().await;
        let started = Instant::now();
        if let Some((until, totals)) = &*known
            && started < *until
        {
            return Ok(totals.clone());
        }
        let totals = store.totals().await?;
        let age = TOTALS_AGE.max(started.elapsed() * TOTALS_REST);
        *known = Some((Instant::now() + age, totals.clone()));
        Ok(totals)
    }

    /// Returns all numbers as text. Without those of the store, it is reported as not reachable.
    pub(crate) fn text(&self, totals: Option<&StoreTotals>, process: &ProcessNumbers) -> String {
        let mut text = MetricsText::default();
        text.gauge("windlass_build_info", "The version of the server.");
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        text.value("windlass_build_info", &version, 1.0);
        text.up(totals.is_some());
        if let Some(totals) = totals {
            write_totals(&mut text, totals);
        }
        self.write_process(&mut text, process);
        text.0
    }

    fn write_process(&self, text: &mut MetricsText, process: &ProcessNumbers) {
        if let Some((running, free)) = process.slots {
            text.gauge(
                "windlass_worker_slots",
                "Slots of the workers in this process.",
            );
            for (name, count) in [("running", running), ("free", free)] {
                text.value(
                    "windlass_worker_slots",
                    &[("state", name)],
                    number(count as u64),
                );
            }
        }
        if let Some((exported, dropped)) = process.spans {
            text.counter(
                "windlass_trace_spans_total",
                "Spans of traces for the collector, of this process.",
            );
            for (name, count) in [("exported", exported), ("dropped", dropped)] {
                text.value(
                    "windlass_trace_spans_total",
                    &[("result", name)],
                    number(count),
                );
            }
        }
        text.gauge(
            "windlass_websocket_subscribers",
            "Open WebSockets of this process.",
        );
        text.value(
            "windlass_websocket_subscribers",
            &[],
            number(process.subscribers as u64),
        );
        text.counter(
            "windlass_responses_total",
            "Responses of this process by kind of request and class of status.",
        );
        for (kind, counts) in KINDS.iter().zip(&self.responses) {
            for (class, count) in counts.iter().enumerate().skip(1) {
                let class = format!("{class}xx");
                let labels = [("kind", *kind), ("status", class.as_str())];
                text.value(
                    "windlass_responses_total",
                    &labels,
                    number(count.load(Ordering::Relaxed)),
                );
            }
        }
        text.histogram_type(
            "windlass_request_seconds",
            "Time until the headers of a response, by kind of request.",
        );
        for (kind, histogram) in KINDS.iter().zip(&self.latency) {
            text.histogram(
                "windlass_request_seconds",
                ("kind", kind),
                &histogram.counts(),
            );
        }
    }
}

/// What other parts of this process count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessNumbers {
    /// The running and free slots of the workers.
    pub(crate) slots: Option<(usize, usize)>,
    /// The open WebSockets.
    pub(crate) subscribers: usize,
    /// The spans that were sent to a collector, and those that were dropped.
    pub(crate) spans: Option<(u64, u64)>,
}

/// Returns the kind of a request, as an index into [`KINDS`].
fn kind(path: &str) -> usize {
    match path {
        path if is_below(path, "/api/v1") => 0,
        path if is_below(path, "/mcp") => 1,
        path if is_below(path, "/v1") || is_below(path, "/api") => 2,
        path if is_git(path) => 4,
        _ => 3,
    }
}

/// Returns `true` for the paths of probes, which need neither a token nor a known host: they reveal nothing.
pub(crate) fn is_probe(path: &str) -> bool {
    matches!(path, "/livez" | "/readyz")
}

fn write_totals(text: &mut MetricsText, totals: &StoreTotals) {
    text.gauge("windlass_tasks", "Tasks of the store by status.");
    // A number that is zero is written too: the rate of a series that has just appeared is unknown.
    for status in TaskStatus::ALL.map(TaskStatus::as_str) {
        let count = totals.tasks.get(status).copied().unwrap_or_default();
        text.value("windlass_tasks", &[("status", status)], number(count));
    }
    text.counter(
        "windlass_attempts_total",
        "Attempts (claims) of the store by result; open ones are running.",
    );
    let results = AttemptStatus::ALL.map(AttemptStatus::as_str);
    for result in results.into_iter().chain(["open"]) {
        let count = totals.attempts.get(result).copied().unwrap_or_default();
        text.value(
            "windlass_attempts_total",
            &[("result", result)],
            number(count),
        );
    }
    let waiting = totals.oldest_waiting.as_secs_f64();
    let (blockers, approvals) = (totals.open_blockers, totals.open_approvals);
    text.gauge(
        "windlass_oldest_pending_seconds",
        "How long the oldest task that could be claimed waits.",
    );
    text.value("windlass_oldest_pending_seconds", &[], waiting);
    text.gauge("windlass_open_questions", "Questions without an answer.");
    text.value("windlass_open_questions", &[], number(blockers));
    text.gauge(
        "windlass_open_approvals",
        "Permission requests without a decision.",
    );
    text.value("windlass_open_approvals", &[], number(approvals));
    text.counter("windlass_events_total", "Events of the store.");
    text.value("windlass_events_total", &[], number(totals.last_event));
    text.counter(
        "windlass_model_tokens_total",
        "Tokens of the models in all attempts.",
    );
    for (direction, count) in [
        ("input", totals.input_tokens),
        ("output", totals.output_tokens),
    ] {
        text.value(
            "windlass_model_tokens_total",
            &[("direction", direction)],
            number(count),
        );
    }
    text.histogram_type(
        "windlass_store_seconds",
        "Latency of the store, of operations of this process.",
    );
    text.histogram(
        "windlass_store_seconds",
        ("operation", "read"),
        &totals.reads,
    );
    text.histogram(
        "windlass_store_seconds",
        ("operation", "write"),
        &totals.writes,
    );
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a metric is a floating-point number"
)]
fn number(count: u64) -> f64 {
    count as f64
}

/// Text in the format of Prometheus.
#[derive(Debug, Default)]
struct MetricsText(String);

impl MetricsText {
    fn up(&mut self, is_up: bool) {
        self.gauge("windlass_store_up", "Whether the store could be read.");
        self.value("windlass_store_up", &[], if is_up { 1.0 } else { 0.0 });
    }

    fn describe(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn gauge(&mut self, name: &str, help: &str) {
        self.describe(name, "gauge", help);
    }

    fn counter(&mut self, name: &str, help: &str) {
        self.describe(name, "counter", help);
    }

    fn histogram_type(&mut self, name: &str, help: &str) {
        self.describe(name, "histogram", help);
    }

    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| label(name, value))
            .collect();
        let labels = match labels.as_slice() {
            [] => String::new(),
            labels => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn histogram(&mut self, name: &str, own: (&str, &str), counts: &HistogramCounts) {
        let bounds = LATENCY_BOUNDS_MS
            .iter()
            .map(|bound| (number(*bound) / 1000.0).to_string());
        let bounds = bounds.chain(std::iter::once("+Inf".to_owned()));
        let mut sum = 0;
        for (bound, count) in bounds.zip(counts.buckets) {
            sum += count;
            self.value(
                &format!("{name}_bucket"),
                &[own, ("le", &bound)],
                number(sum),
            );
        }
        self.value(&format!("{name}_sum"), &[own], counts.sum.as_secs_f64());
        self.value(&format!("{name}_count"), &[own], number(sum));
    }
}

/// Returns a label with its value escaped.
fn label(name: &str, value: &str) -> String {
    let value = value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histogram_has_cumulative_buckets() {
        let histogram = LatencyHistogram::default();
        for millis in [1, 3, 3, 60_000] {
            histogram.observe(Duration::from_millis(millis));
        }
        let mut text = MetricsText::default();
        text.histogram("t", ("kind", "a\"b\\c\nd"), &histogram.counts());
        let lines: Vec<&str> = text.0.lines().collect();
        assert_eq!(lines[0], r#"t_bucket{kind="a\"b\\c\nd",le="0.001"} 1"#);
        assert_eq!(lines[2], r#"t_bucket{kind="a\"b\\c\nd",le="0.005"} 3"#);
        assert_eq!(lines[12], r#"t_bucket{kind="a\"b\\c\nd",le="+Inf"} 4"#);
        assert_eq!(lines[13], r#"t_sum{kind="a\"b\\c\nd"} 60.007"#);
        assert_eq!(lines[14], r#"t_count{kind="a\"b\\c\nd"} 4"#);
    }
}
