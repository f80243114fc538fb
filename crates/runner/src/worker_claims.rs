//! What a worker claims, tasks and landings, and how long it waits for the store when it is to stop.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use windlass_core::Usage;
use windlass_tasks::{AttemptRef, Claim, Release};

use crate::Runner;
use crate::attempt::retry_transient;
use crate::pool::PoolPermit;
use crate::registration::Registration;
use crate::settings::KEEP_GRACE;
use crate::worker::{ClaimOutcome, LandingReports, Worker};

impl Worker {
    /// Claims the next task. After `stop`, one that is granted within the grace period is released; one that is granted
    /// later is claimed again when its lease expires.
    pub(crate) fn claim(
        &self,
        slot: PoolPermit,
        registered: Option<&Registration>,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ClaimOutcome> {
        let runner = Arc::clone(&self.runner);
        let entry = self.entry.as_ref();
        let claim = Claim {
            project_id: self.project,
            kinds: self.kinds.clone(),
            worker_id: registered.map(|registered| registered.id),
            labels: entry.map_or_else(Vec::new, |entry| entry.labels.clone()),
            agents: entry.map(|entry| entry.agents.clone()),
            ..runner.next_claim()
        };
        Box::pin(async move {
            let claimed = async {
                match runner.claim_task(claim).await? {
                    Some(claimed) if stop.is_cancelled() => {
                        release_unstarted(&runner, claimed.claimed.attempt).await;
                        Ok(None)
                    }
                    claimed => Ok(claimed),
                }
            };
            let claimed = tokio::select! {
                biased;
                claimed = claimed => claimed,
                () = runner.after_stop(&stop, runner.settings.stop_grace) => {
                    tracing::warn!("the store did not answer a claim before the worker stopped; a lease that it grants expires");
                    Ok(None)
                }
            };
            (claimed, slot)
        })
    }

    /// Lands the next changes of one queue.
    pub(crate) fn land(
        &self,
        stop: CancellationToken,
    ) -> Option<BoxFuture<'static, LandingReports>> {
        let lander = self.lander.clone()?;
        Some(Box::pin(async move {
            let runner = &lander.runner;
            let landing = async {
                tokio::select! {
                    biased;
                    added = lander.enqueue_due() => added?,
                    () = stop.cancelled() => return Ok(Vec::new()),
                };
                lander.land_next(&[], &stop).await
            };
            tokio::select! {
                biased;
                landed = landing => landed,
                () = runner.after_stop(&stop, runner.settings.stop_grace + KEEP_GRACE) => {
                    tracing::warn!("a landing could not be put back into its queue before the worker stopped; its lease expires");
                    Ok(Vec::new())
                }
            }
        }))
    }
}

/// Releases an attempt that has not started. It does not count.
async fn release_unstarted(runner: &Runner, attempt: AttemptRef) {
    let release = Release {
        reason: "the worker stopped before the attempt started".to_owned(),
        usage: Usage::default(),
    };
    let store = &runner.store;
    let released = retry_transient(&*runner.clock, || store.release(attempt, release.clone()));
    if let Err(error) = released.await {
        tracing::warn!(%attempt, %error, "the task was not released; its lease expires");
    }
}
