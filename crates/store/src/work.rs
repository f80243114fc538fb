//! A piece of work that waits for its turn to write.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::oneshot;
use windlass_core::task::{StoreError, StoreResult};

use crate::session::Session;

/// What is done, in the words of a person who waits for it: for its turn, for the database, for the disk.
pub(crate) type Stages = [&'static str; 3];

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
pub(crate) enum Stage {
    Queued = 0,
    Running = 1,
    Committing = 2,
}

/// How far a piece of work is, seen from both sides.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    stages: Stages,
    at: Arc<AtomicUsize>,
}

impl Progress {
    pub(crate) fn new(stages: Stages) -> Self {
        Self {
            stages,
            at: Arc::new(AtomicUsize::new(Stage::Queued as usize)),
        }
    }

    fn reach(&self, stage: Stage) {
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
pub(crate) enum Ran {
    /// It has its answer, and the transaction is good.
    Well,
    /// It failed and left something behind: all of the transaction must go back.
    Spoiled,
}

/// A piece of work of any kind. It may be run more than once; only what was committed counts.
pub(crate) trait Work: fmt::Debug + Send {
    /// Whether its answer may only be given once the disk has it.
    fn is_durable(&self) -> bool;
    /// Whether somebody still waits for its answer.
    fn is_wanted(&self) -> bool;
    /// Says how far it is.
    fn reach(&self, stage: Stage);
    /// Does it within a transaction.
    fn run<'a>(&'a mut self, session: &'a mut Session) -> BoxFuture<'a, Ran>;
    /// Gives its answer. If nobody takes it any more, there may be something to undo.
    fn deliver(self: Box<Self>) -> Option<Box<dyn Work>>;
    /// Gives this answer instead.
    fn fail(self: Box<Self>, error: StoreError);
}

/// Something that can be done in a transaction, as often as need be.
pub(crate) type Deed<T> =
    Box<dyn for<'a> Fn(&'a mut Session) -> BoxFuture<'a, StoreResult<T>> + Send + Sync>;

/// Takes back what nobody learned about.
pub(crate) type Undo<T> = fn(T) -> Option<Box<dyn Work>>;

/// A deed and the one who waits for its answer.
pub(crate) struct Job<T> {
    pub(crate) deed: Deed<T>,
    pub(crate) durable: bool,
    pub(crate) progress: Progress,
    pub(crate) answer: Option<StoreResult<T>>,
    /// `None`: done for the store's own sake.
    pub(crate) reply: Option<oneshot::Sender<StoreResult<T>>>,
    pub(crate) undo: Option<Undo<T>>,
}

impl<T> fmt::Debug for Job<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("what", &self.progress.stages[1])
            .finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Work for Job<T> {
    fn is_durable(&self) -> bool {
        self.durable
    }

    fn is_wanted(&self) -> bool {
        self.reply.as_ref().is_none_or(|reply| !reply.is_closed())
    }

    fn reach(&self, stage: Stage) {
        self.progress.reach(stage);
    }

    fn run<'a>(&'a mut self, session: &'a mut Session) -> BoxFuture<'a, Ran> {
        Box::pin(async move {
            session.begin_work();
            let answer = (self.deed)(session).await;
            let spoiled = answer.is_err() && session.is_spoiled();
            self.answer = Some(answer);
            if spoiled { Ran::Spoiled } else { Ran::Well }
        })
    }

    fn deliver(self: Box<Self>) -> Option<Box<dyn Work>> {
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
