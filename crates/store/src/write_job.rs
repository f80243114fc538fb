//! A piece of work that waits for its turn to write.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::oneshot;
use windlass_core::task::{StoreError, StoreResult};

use crate::connection::DbConnection;

/// What is done, in the words of a person who waits for it: for its turn, for the database, for the disk.
pub(crate) type StageLabels = [&'static str; 3];

/// Names a piece of work.
macro_rules! stages {
    ($name:literal) => {
        [
            concat!($name, " (waiting for its turn to write)"),
            concat!($name, " (waiting for the database)"),
            concat!($name, " (waiting for the disk)"),
        ]
    };
}
pub(crate) use stages;

/// How far a piece of work is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum JobStage {
    Queued = 0,
    Running = 1,
    Committing = 2,
}

/// How far a piece of work is, seen from both sides.
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

    /// What to tell somebody who waited too long.
    pub(crate) fn timeout(&self, after: Duration) -> StoreError {
        let at = self.at.load(Ordering::Relaxed).min(self.stages.len() - 1);
        StoreError::Timeout {
            what: self.stages[at],
            after,
        }
    }
}

/// What became of a piece of work within its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunOutcome {
    /// It has its answer, and the transaction is good.
    Done,
    /// It failed and left something behind: all of the transaction must go back.
    Poisoned,
}

/// A piece of work of any kind. It may be run more than once; only what was committed counts.
pub(crate) trait WriteJob: fmt::Debug + Send {
    /// Whether its answer may only be given once the disk has it.
    fn is_durable(&self) -> bool;
    /// Whether somebody still waits for its answer.
    fn has_waiter(&self) -> bool;
    /// Says how far it is.
    fn set_stage(&self, stage: JobStage);
    /// Does it within a transaction.
    fn run<'a>(&'a mut self, session: &'a mut DbConnection) -> BoxFuture<'a, RunOutcome>;
    /// Gives its answer. If nobody takes it any more, there may be something to undo.
    fn deliver(self: Box<Self>) -> Option<Box<dyn WriteJob>>;
    /// Gives this answer instead.
    fn fail(self: Box<Self>, error: StoreError);
}

/// Something that can be done in a transaction, as often as need be.
pub(crate) type Operation<T> =
    Box<dyn for<'a> Fn(&'a mut DbConnection) -> BoxFuture<'a, StoreResult<T>> + Send + Sync>;

/// Takes back what nobody learned about.
pub(crate) type UndoFn<T> = fn(T) -> Option<Box<dyn WriteJob>>;

/// A deed and the one who waits for its answer.
pub(crate) struct TypedWriteJob<T> {
    pub(crate) deed: Operation<T>,
    pub(crate) durable: bool,
    pub(crate) progress: JobProgress,
    pub(crate) answer: Option<StoreResult<T>>,
    /// `None`: done for the store's own sake.
    pub(crate) reply: Option<oneshot::Sender<StoreResult<T>>>,
    pub(crate) undo: Option<UndoFn<T>>,
}

impl<T> fmt::Debug for TypedWriteJob<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
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

    fn run<'a>(&'a mut self, session: &'a mut DbConnection) -> BoxFuture<'a, RunOutcome> {
        Box::pin(async move {
            session.begin_job();
            let answer = (self.deed)(session).await;
            let spoiled = answer.is_err() && session.is_poisoned();
            self.answer = Some(answer);
            if spoiled {
                RunOutcome::Poisoned
            } else {
                RunOutcome::Done
            }
        })
    }

    fn deliver(self: Box<Self>) -> Option<Box<dyn WriteJob>> {
        let Self {
            answer,
            reply,
            undo,
            ..
        } = *self;
        let answer = answer?;
        let returned = match reply {
            Some(reply) => reply.send(answer).err()?,
            None => return None,
        };
        undo?(returned.ok()?)
    }

    fn fail(self: Box<Self>, error: StoreError) {
        if let Some(reply) = self.reply {
            // Whoever left does not want to know.
            let _ = reply.send(Err(error));
        }
    }
}
