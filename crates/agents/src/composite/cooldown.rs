//! Who has failed and rests, for all requests to one composite.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windlass_core::{Clock, ErrorCode};

/// The longest rest that a provider may ask for: a larger number is a slip.
const MAX_COOLDOWN: Duration = Duration::from_secs(24 * 60 * 60);

/// The rests of a composite's nodes, by their place.
#[derive(Debug)]
pub(super) struct Cooldowns {
    clock: Arc<dyn Clock>,
    /// How long, where a provider does not say.
    usual: Duration,
    rests: Mutex<Vec<Option<Cooldown>>>,
}

/// Why a node is not asked, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cooldown {
    /// When it is over, by the clock that never goes back.
    until: Duration,
    /// Whether the provider asked for it; then the node is not asked before, whatever happens.
    wished: bool,
    /// How the node failed.
    pub(super) code: ErrorCode,
}

/// Who is asked, in which order, and who is not.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NodeOrder {
    /// Those that are ready; then, for want of a better, those that rest only because we say so, soonest first.
    pub(super) ask: Vec<usize>,
    /// Those that rest, with how long still.
    pub(super) resting: Vec<(usize, Cooldown, Duration)>,
}

impl NodeOrder {
    /// When the first of those that rest is ready again.
    pub(super) fn earliest_ready(&self) -> Option<Duration> {
        self.resting.iter().map(|(_, _, left)| *left).min()
    }
}

impl Cooldowns {
    pub(super) fn new(clock: Arc<dyn Clock>, nodes: usize, usual: Duration) -> Self {
        Self {
            clock,
            usual,
            rests: Mutex::new(vec![None; nodes]),
        }
    }

    /// The node failed: it rests, for as long as its provider asked or else the usual time.
    pub(super) fn record_failure(&self, node: usize, code: ErrorCode, wish: Option<Duration>) {
        let rest = Cooldown {
            until: self.clock.elapsed() + wish.unwrap_or(self.usual).min(MAX_COOLDOWN),
            wished: wish.is_some(),
            code,
        };
        if let Some(place) = self.lock().get_mut(node) {
            *place = Some(rest);
        }
    }

    /// The node has answered.
    pub(super) fn record_success(&self, node: usize) {
        if let Some(place) = self.lock().get_mut(node) {
            *place = None;
        }
    }

    /// Whom to ask now.
    pub(super) fn order(&self) -> NodeOrder {
        let now = self.clock.elapsed();
        let mut order = NodeOrder::default();
        for (node, rest) in self.lock().iter().enumerate() {
            match rest {
                Some(rest) if rest.until > now => {
                    order.resting.push((node, *rest, rest.until - now));
                }
                _ => order.ask.push(node),
            }
        }
        let ours = order.resting.iter().filter(|(_, rest, _)| !rest.wished);
        let mut ours: Vec<_> = ours.map(|(node, _, left)| (*left, *node)).collect();
        ours.sort();
        order.ask.extend(ours.into_iter().map(|(_, node)| node));
        order
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<Cooldown>>> {
        self.rests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::SystemClock;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn asked(cooling: &Cooldowns) -> Vec<usize> {
        cooling.order().ask
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_failed_is_asked_last_until_it_has_rested() {
        let cooling = Cooldowns::new(Arc::new(SystemClock::new()), 3, MINUTE);
        assert_eq!(asked(&cooling), [0, 1, 2]);
        cooling.record_failure(0, ErrorCode::BackendError, None);
        assert_eq!(asked(&cooling), [1, 2, 0]);
        assert_eq!(cooling.order().resting.len(), 1);
        tokio::time::advance(MINUTE).await;
        assert_eq!(asked(&cooling), [0, 1, 2]);
        cooling.record_failure(2, ErrorCode::BackendError, None);
        cooling.record_failure(1, ErrorCode::BackendError, None);
        cooling.record_success(2);
        assert_eq!(asked(&cooling), [0, 2, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_provider_asks_for_is_kept_to() {
        let cooling = Cooldowns::new(Arc::new(SystemClock::new()), 2, MINUTE);
        cooling.record_failure(0, ErrorCode::RateLimited, Some(2 * MINUTE));
        cooling.record_failure(1, ErrorCode::RateLimited, Some(Duration::MAX));
        assert_eq!(asked(&cooling), [] as [usize; 0]);
        assert_eq!(cooling.order().earliest_ready(), Some(2 * MINUTE));
        tokio::time::advance(2 * MINUTE).await;
        assert_eq!(asked(&cooling), [0]);
        tokio::time::advance(MAX_COOLDOWN).await;
        assert_eq!(asked(&cooling), [0, 1]);
    }
}
