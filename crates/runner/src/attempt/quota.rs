//! Waits until a provider's limit ends. The attempt keeps its lease, its clone and its session meanwhile.

use std::time::Duration;

use windlass_tasks::{AccountLimit, StoreFuture};

use super::{AttemptContext, AttemptResult, retry_transient};
use crate::{local_time, zone_name};

/// How often the limit is read again: it may change, and the clock may jump.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

impl AttemptContext<'_> {
    /// Waits while there is a limit. The time does not count for the attempt's budget.
    pub(super) async fn wait_for_quota<'s>(
        &self,
        find: impl Fn() -> StoreFuture<'s, Option<AccountLimit>>,
    ) -> AttemptResult<()> {
        let clock = &*self.runner.clock;
        let zone = zone_name();
        let mut shown = String::new();
        while let Some(limit) = retry_transient(clock, &find).await? {
            let until = local_time(limit.until, &zone).unwrap_or_default();
            let message = format!("waiting for quota until {until}");
            if message != shown {
                let (account, reason) = (&limit.account, &limit.reason);
                let details = format!("{message}: {account}: {reason}");
                self.report_activity("waiting", details).await;
                shown = message;
            }
            let hold = self.budget.hold(clock);
            clock.sleep(limit.remaining.min(CHECK_INTERVAL)).await;
            hold.end(clock);
        }
        if !shown.is_empty() {
            self.report_activity("agent", "the limit has ended: going on")
                .await;
        }
        Ok(())
    }
}
