//! A job in the write queue.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::oneshot;
use windlass_tasks::{StoreError, StoreResult};

use crate::connection::DbConnection;
use crate::merge::{MergeInput, MergeOutput, Mergeable};

/// What the job does, as text for timeout errors: queued, running, committing.
pub(crate) type StageLabels = [&'static str; 3];

/// Builds the stage labels of a job.
macro_rules! stages {
    ($name:literal) => {
        [
            concat!($name, " (waiting in the write queue)"),
            concat!($name, " (waiting for the database)"),
            concat!($name, " (waiting for the disk)"),
        ]
    };
}
pub(crate) use stages;

/// Stage of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) enum JobStage {
    Queued = 0,
    Running = 1,
    Committing = 2,
}

/// Stage of a job, shared between the writer and the waiting caller.
#[derive(Debug, Clone)]
pub(crate) struct JobProgress {
    stages: StageLabels,
    at: Arc<AtomicUsize>,
}

impl JobProgress {
    pub(crate) fn new(stages: StageLabels) -> Self {
        Self {
            stages,
            at: Arc::new(AtomicUsize::new(JobStage::Queued as usize)),
        }
    }

    fn set_stage(&self, stage: JobStage) {
        self.at.store(stage as usize, Ordering::Relaxed);
    }

    /// Returns the error for a caller that waited too long.
    pub(crate) fn timeout(&self, after: Duration) -> StoreError {
        let at = self.at.load(Ordering::Relaxed).min(self.stages.len() - 1);
        StoreError::Timeout {
            what: self.stages[at],
            after,
        }
    }
}

/// Result of running a job in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunOutcome {
    /// The job has its result, and the transaction can be committed.
    Done,
    /// The job failed after it wrote changes: the whole transaction must be rolled back.
    Poisoned,
}

/// A write job of any result type. It may run more than once; only committed runs count.
pub(crate) trait WriteJob: fmt::Debug + Send {
    /// Returns `true` if the reply must wait until the commit is on disk.
    fn is_durable(&self) -> bool;
    /// Returns `true` if the caller still waits for the reply, or if there is no caller.
    fn has_waiter(&self) -> bool;
    /// Records the current stage.
    fn set_stage(&self, stage: JobStage);
    /// Runs the job in the current transaction.
    fn run<'a>(&'a mut self, db: &'a mut DbConnection) -> BoxFuture<'a, RunOutcome>;
    /// Returns what the job writes if it can be merged with others.
    fn merge_input(&self) -> Option<&Arc<MergeInput>>;
    /// Sets the result of a merged write.
    fn set_merged(&mut self, output: MergeOutput);
    /// Forgets the result of a transaction that was not committed.
    fn clear_result(&mut self);
    /// Returns `true` if the job has a result to deliver.
    fn has_result(&self) -> bool;
    /// Sends the result to the caller. If the caller stopped waiting, returns the job that undoes the
    /// operation, if any.
    fn deliver(self: Box<Self>) -> Option<Box<dyn WriteJob>>;
    /// Sends this error to the caller.
    fn fail(self: Box<Self>, error: StoreError);
}

/// A closure run in a transaction, possibly more than once.
pub(crate) type Operation<T> =
    Box<dyn for<'a> Fn(&'a mut DbConnection) -> BoxFuture<'a, StoreResult<T>> + Send + Sync>;

/// Creates the job that reverses an operation if the caller did not receive its result.
pub(crate) type UndoFn<T> = fn(T) -> Option<Box<dyn WriteJob>>;

/// A write operation and the channel to its caller.
pub(crate) struct TypedWriteJob<T> {
    pub(crate) operation: Operation<T>,
    pub(crate) durable: bool,
    pub(crate) progress: JobProgress,
    pub(crate) result: Option<StoreResult<T>>,
    /// `None` for jobs without a caller, such as undo jobs.
    pub(crate) reply: Option<oneshot::Sender<StoreResult<T>>>,
    pub(crate) undo: Option<UndoFn<T>>,
    pub(crate) merge: Option<Mergeable<T>>,
}

impl<T> fmt::Debug for TypedWriteJob<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedWriteJob")
            .field("what", &self.progress.stages[1])
            .finish_non_exhaustive()
    }
}

impl<T: Send + 'static> WriteJob for TypedWriteJob<T> {
    fn is_durable(&self) -> bool {
        self.durable
    }

    fn has_waiter(&self) -> bool {
        self.reply.as_ref().is_none_or(|reply| !reply.is_closed())
    }

    fn set_stage(&self, stage: JobStage) {
        self.progress.set_stage(stage);
    }

    fn run<'a>(&'a mut self, db: &'a mut DbConnection) -> BoxFuture<'a, RunOutcome> {
        Box::pin(async move {
            db.begin_job();
            let result = (self.operation)(db).await;
            let poisoned = result.is_err() && db.is_poisoned();
            self.result = Some(result);
            if poisoned {
                RunOutcome::Poisoned
            } else {
                RunOutcome::Done
            }
        })
    }

    fn merge_input(&self) -> Option<&Arc<MergeInput>> {
        self.merge.as_ref().map(|merge| &merge.input)
    }

    fn set_merged(&mut self, output: MergeOutput) {
        let output = self.merge.as_ref().and_then(|merge| (merge.output)(output));
        self.result = output.map(Ok);
    }

    fn clear_result(&mut self) {
        self.result = None;
    }

    fn has_result(&self) -> bool {
        self.result.is_some()
    }

    fn deliver(self: Box<Self>) -> Option<Box<dyn WriteJob>> {
        let Self {
            result,
            reply,
            undo,
            ..
        } = *self;
        let result = result?;
        let returned = match reply {
            Some(reply) => reply.send(result).err()?,
            None => return None,
        };
        undo?(returned.ok()?)
    }

    fn fail(self: Box<Self>, error: StoreError) {
        if let Some(reply) = self.reply {
            // The caller may have stopped waiting.
            let _ = reply.send(Err(error));
        }
    }
}
