//! Keeps the change of every attempt, and continues from the change of an earlier one.

use std::pin::pin;

use windlass_core::Result;
use windlass_tasks::{
    AttemptRef, Commit, EarlierChange, Leases, StartPoint, StoreError, WorkingCopy, Workspace,
};

use super::lease::Lease;
use super::retry::is_transient;
use super::{AttemptContext, AttemptResult, retry_transient};

/// Keeps the changes of attempts after their worker died on this machine, and removes their clones. An attempt
/// that is live, or that has a clone in use by a process, is skipped. Returns the number of removed clones.
///
/// A change that cannot be kept now stays in its clone until the next call.
pub async fn keep_stale_changes(
    workspace: &dyn Workspace,
    store: &dyn Leases,
    is_live: &(dyn Fn(AttemptRef) -> bool + Sync),
) -> Result<u32> {
    let mut removed = 0;
    for (attempt, copy) in workspace.stale(is_live).await? {
        let kept = match keep(&*copy, attempt).await {
            Ok(Some(commit)) => recorded(store.record_change(attempt, commit.id).await),
            Ok(None) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        match kept {
            Ok(()) => {
                copy.close().await?;
                removed += 1;
            }
            Err(error) => {
                tracing::warn!(%attempt, error, "the change of a lost attempt is not kept yet");
            }
        }
    }
    Ok(removed)
}

async fn keep(copy: &dyn WorkingCopy, at: AttemptRef) -> Result<Option<Commit>> {
    let AttemptRef { task, number } = at;
    copy.keep(format!("Change of task {task}, attempt {number}\n"))
        .await
}

/// Accepts a rejected record: another change of the attempt is recorded already, or its task does not exist any
/// more. The ref keeps the change in either case.
fn recorded(result: Result<(), StoreError>) -> Result<(), String> {
    match result {
        Err(error) if is_transient(&error) => Err(error.to_string()),
        _ => Ok(()),
    }
}

impl AttemptContext<'_> {
    /// Returns the change that this attempt starts from. If the worker of an earlier attempt died on this
    /// machine, its change is kept first.
    pub(super) async fn earlier_change(&self) -> AttemptResult<Option<EarlierChange>> {
        let (runner, at) = (self.runner, self.at);
        let is_live = move |other: AttemptRef| other.task != at.task || other.number >= at.number;
        let stale = keep_stale_changes(&*runner.workspace, &*runner.store, &is_live).await;
        if let Err(error) = stale {
            tracing::warn!(%at, %error, "the changes of lost attempts were not searched");
        }
        let earlier = || runner.store.earlier_change(at.task);
        Ok(retry_transient(&*runner.clock, earlier).await?)
    }

    /// Reports whether the files start with the change of an earlier attempt.
    pub(super) async fn report_start(&self, start: &StartPoint, earlier: Option<&EarlierChange>) {
        let Some(earlier) = earlier else {
            return;
        };
        let number = earlier.attempt;
        let message = match start {
            StartPoint::Base | StartPoint::Conflict(_) => return,
            StartPoint::Change => format!("starting from the change of attempt {number}"),
            StartPoint::NotApplied(why) => {
                format!("starting without the change of attempt {number}: {why}")
            }
        };
        self.report_activity("start", message).await;
    }

    /// Keeps the change, however the attempt ended, and renews the lease meanwhile. Returns `true` if the clone
    /// is not needed any more.
    pub(super) async fn keep_change(&self, lease: &Lease<'_>) -> bool {
        let Some(copy) = self.working_copy.get() else {
            return true;
        };
        let Err(error) = while_renewing(lease, self.keep_and_record(&**copy)).await else {
            return true;
        };
        tracing::warn!(error, "the change is not kept yet");
        let message = self.activity("keep", format!("the change is not kept yet: {error}"));
        self.runner.bus.send(message.clone());
        let append = self
            .runner
            .store
            .append_events(Some(self.at), vec![message]);
        // Best effort: a superseded attempt cannot append.
        let _ = while_renewing(lease, append).await;
        false
    }

    /// Removes the clone. If that fails, the next worker that starts removes it.
    pub(super) async fn remove_clone(&mut self) {
        let Some(working_copy) = self.working_copy.take() else {
            return;
        };
        tokio::select! {
            biased;
            closed = working_copy.close() => if let Err(error) = closed {
                tracing::warn!(%error, "the clone was not removed");
            },
            () = self.runner.clock.sleep(self.runner.settings.lease) => {}
        }
    }

    async fn keep_and_record(&self, copy: &dyn WorkingCopy) -> Result<(), String> {
        let kept = keep(copy, self.at).await;
        let Some(commit) = kept.map_err(|error| error.to_string())? else {
            return Ok(());
        };
        if self.files().is_empty()
            && let Ok(change) = copy.change_of(&commit).await
        {
            self.set_files(&change.files);
        }
        let runner = self.runner;
        let record = || runner.store.record_change(self.at, commit.id.clone());
        recorded(retry_transient(&*runner.clock, record).await)
    }
}

/// Waits for a future, and renews the lease meanwhile.
pub(super) async fn while_renewing<T>(lease: &Lease<'_>, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        _ = lease.renew_until_lost() => {}
    }
    work.await
}
