//! Cool-downs of failed nodes, shared by all requests to one composite.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use windlass_core::{Clock, ErrorCode};

/// The longest cool-down that a provider may request; a larger value is assumed to be a mistake.
const MAX_COOLDOWN: Duration = Duration::from_secs(24 * 60 * 60);

/// The cool-downs of a composite's nodes, by node index.
#[derive(Debug)]
pub(super) struct Cooldowns {
    clock: Arc<dyn Clock>,
    /// The duration if the provider does not set one.
    default_duration: Duration,
    cooldowns: Mutex<Vec<Option<Cooldown>>>,
}

/// The cool-down of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cooldown {
    /// When it ends, on the monotonic clock.
    until: Duration,
    /// `true` if the provider requested it. Such a node is never used before the end.
    by_provider: bool,
    /// The error that the node failed with.
    pub(super) code: ErrorCode,
}

/// The nodes to try, in order, and the nodes that are cooling down.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NodeOrder {
    /// The nodes that are ready, followed by those with a cool-down that no provider requested, soonest first.
    pub(super) nodes: Vec<usize>,
    /// The nodes that are cooling down, with the remaining time.
    pub(super) cooling: Vec<(usize, Cooldown, Duration)>,
}

impl NodeOrder {
    /// Returns the time until the first cool-down ends.
    pub(super) fn earliest_ready(&self) -> Option<Duration> {
        self.cooling
            .iter()
            .map(|(_, _, remaining)| *remaining)
            .min()
    }
}

impl Cooldowns {
    pub(super) fn new(clock: Arc<dyn Clock>, nodes: usize, default_duration: Duration) -> Self {
        Self {
            clock,
            default_duration,
            cooldowns: Mutex::new(vec![None; nodes]),
        }
    }

    /// Starts a cool-down of the failed node: for `retry_after` if the provider sent it, otherwise for the default
    /// duration.
    pub(super) fn record_failure(
        &self,
        node: usize,
        code: ErrorCode,
        retry_after: Option<Duration>,
    ) {
        let duration = retry_after.unwrap_or(self.default_duration);
        let cooldown = Cooldown {
            until: self.clock.elapsed() + duration.min(MAX_COOLDOWN),
            by_provider: retry_after.is_some(),
            code,
        };
        if let Some(slot) = self.cooldowns.lock().get_mut(node) {
            *slot = Some(cooldown);
        }
    }

    /// Ends the cool-down of a node that answered.
    pub(super) fn record_success(&self, node: usize) {
        if let Some(slot) = self.cooldowns.lock().get_mut(node) {
            *slot = None;
        }
    }

    /// Returns `true` if a node is not cooling down.
    pub(super) fn has_ready(&self) -> bool {
        let now = self.clock.elapsed();
        let cooldowns = self.cooldowns.lock();
        let is_ready = |cooldown: &Option<Cooldown>| cooldown.is_none_or(|one| one.until <= now);
        cooldowns.iter().any(is_ready)
    }

    /// Returns the nodes to try now, in order.
    pub(super) fn order(&self) -> NodeOrder {
        let now = self.clock.elapsed();
        let mut order = NodeOrder::default();
        for (node, cooldown) in self.cooldowns.lock().iter().enumerate() {
            match cooldown {
                Some(cooldown) if cooldown.until > now => {
                    order.cooling.push((node, *cooldown, cooldown.until - now));
                }
                _ => order.nodes.push(node),
            }
        }
        let usable = order
            .cooling
            .iter()
            .filter(|(_, cooldown, _)| !cooldown.by_provider);
        let mut usable: Vec<_> = usable.map(|(node, _, left)| (*left, *node)).collect();
        usable.sort();
        order.nodes.extend(usable.into_iter().map(|(_, node)| node));
        order
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::SystemClock;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn order(cooldowns: &Cooldowns) -> Vec<usize> {
        cooldowns.order().nodes
    }

    #[tokio::test(start_paused = true)]
    async fn failed_node_is_tried_last_during_its_cooldown() {
        let cooldowns = Cooldowns::new(Arc::new(SystemClock::new()), 3, MINUTE);
        assert_eq!(order(&cooldowns), [0, 1, 2]);
        cooldowns.record_failure(0, ErrorCode::BackendError, None);
        assert_eq!(order(&cooldowns), [1, 2, 0]);
        assert_eq!(cooldowns.order().cooling.len(), 1);
        tokio::time::advance(MINUTE).await;
        assert_eq!(order(&cooldowns), [0, 1, 2]);
        cooldowns.record_failure(2, ErrorCode::BackendError, None);
        cooldowns.record_failure(1, ErrorCode::BackendError, None);
        cooldowns.record_success(2);
        assert_eq!(order(&cooldowns), [0, 2, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn node_is_not_used_during_cooldown_requested_by_provider() {
        let cooldowns = Cooldowns::new(Arc::new(SystemClock::new()), 2, MINUTE);
        cooldowns.record_failure(0, ErrorCode::RateLimited, Some(2 * MINUTE));
        cooldowns.record_failure(1, ErrorCode::RateLimited, Some(Duration::MAX));
        assert_eq!(order(&cooldowns), [] as [usize; 0]);
        assert_eq!(cooldowns.order().earliest_ready(), Some(2 * MINUTE));
        tokio::time::advance(2 * MINUTE).await;
        assert_eq!(order(&cooldowns), [0]);
        tokio::time::advance(MAX_COOLDOWN).await;
        assert_eq!(order(&cooldowns), [0, 1]);
    }
}
