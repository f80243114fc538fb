//! Numbers about a whole store, for monitoring.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of a histogram's buckets, in milliseconds. The last bucket has no bound.
pub const LATENCY_BOUNDS_MS: [u64; 12] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000];

/// Numbers about a store, at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreTotals {
    /// The number of tasks by status.
    pub tasks: BTreeMap<String, u64>,
    /// The number of attempts by result; `open` for those that are running.
    pub attempts: BTreeMap<String, u64>,
    /// How long the oldest task that could be claimed waits.
    pub oldest_waiting: Duration,
    /// The number of questions without an answer.
    pub open_blockers: u64,
    /// The number of permission requests without a decision.
    pub open_approvals: u64,
    /// The number of the last event.
    pub last_event: u64,
    /// The tokens that models read and wrote in all attempts.
    pub input_tokens: u64,
    /// The tokens that models wrote.
    pub output_tokens: u64,
    /// The latency of reads of this process.
    pub reads: HistogramCounts,
    /// The latency of writes of this process.
    pub writes: HistogramCounts,
}

/// A histogram of latencies.
#[derive(Debug, Default)]
pub struct LatencyHistogram {
    buckets: [AtomicU64; LATENCY_BOUNDS_MS.len() + 1],
    sum_micros: AtomicU64,
}

/// The counts of a histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistogramCounts {
    /// How many latencies were in each bucket; the last one has those above all bounds.
    pub buckets: [u64; LATENCY_BOUNDS_MS.len() + 1],
    /// The sum of all latencies.
    pub sum: Duration,
}

impl LatencyHistogram {
    /// Adds a latency.
    pub fn observe(&self, latency: Duration) {
        let is_within = |bound: &u64| latency <= Duration::from_millis(*bound);
        let bucket = LATENCY_BOUNDS_MS.iter().position(is_within);
        let bucket = bucket.unwrap_or(LATENCY_BOUNDS_MS.len());
        if let Some(count) = self.buckets.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.sum_micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns the counts.
    pub fn counts(&self) -> HistogramCounts {
        let mut counts = HistogramCounts::default();
        for (count, bucket) in counts.buckets.iter_mut().zip(&self.buckets) {
            *count = bucket.load(Ordering::Relaxed);
        }
        counts.sum = Duration::from_micros(self.sum_micros.load(Ordering::Relaxed));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_counted_in_their_buckets() {
        let histogram = LatencyHistogram::default();
        for millis in [0, 1, 2, 3, 30_000, 30_001, 90_000] {
            histogram.observe(Duration::from_millis(millis));
        }
        let counts = histogram.counts();
        assert_eq!(counts.buckets, [2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(counts.sum, Duration::from_millis(150_007));
    }
}
