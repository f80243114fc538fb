//! Writes that can be merged into one statement, and their results.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::Usage;
use windlass_tasks::{
    AttemptRef, Claim, Claimed, Enqueued, LeaseStatus, ModelCallId, NewModelCall, NewTask, Outcome,
    Proof, StoreResult, Task,
};

use crate::ops::model_calls::EndedCall;
use crate::ops::traces::NewTrace;
use crate::sql::Row;

/// A write that can be merged.
#[derive(Debug)]
pub(crate) enum MergeInput {
    /// The only task of an `enqueue`.
    Add(Arc<Vec<NewTask>>),
    /// The claim of a worker, and the name of its machine.
    Claim(Claim, String),
    Complete(CompletedAttempt),
    /// A heartbeat: the attempt, and how long its lease is.
    Renew(AttemptRef, Duration),
    /// A model call without limits.
    BeginCall(Arc<NewModelCall>),
    EndCall(Arc<EndedCall>),
    PutTrace(Arc<NewTrace>),
}

impl MergeInput {
    /// Returns `true` if one statement can do both.
    pub(crate) fn merges_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Add(_), Self::Add(_))
            | (Self::Complete(_), Self::Complete(_))
            | (Self::Renew(..), Self::Renew(..))
            | (Self::BeginCall(_), Self::BeginCall(_))
            | (Self::EndCall(_), Self::EndCall(_))
            | (Self::PutTrace(_), Self::PutTrace(_)) => true,
            (Self::Claim(one, at), Self::Claim(two, there)) => one == two && at == there,
            _ => false,
        }
    }

    /// Returns `true` if PostgreSQL, too, has a merged form of the write.
    pub(crate) fn merges_on_postgres(&self) -> bool {
        !matches!(
            self,
            Self::BeginCall(_) | Self::EndCall(_) | Self::PutTrace(_)
        )
    }
}

/// The result of a merged write.
#[derive(Debug)]
pub(crate) enum MergeOutput {
    Added(Enqueued),
    Claimed(Option<Claimed>),
    Completed(Task),
    Renewed(LeaseStatus),
    BeganCall(ModelCallId),
    /// The write has no result.
    Written,
}

/// What a job needs to be merged.
pub(crate) struct Mergeable<T> {
    pub(crate) input: Arc<MergeInput>,
    pub(crate) output: fn(MergeOutput) -> Option<T>,
}

impl Mergeable<()> {
    /// Merges a write that has no result.
    pub(crate) fn written(input: MergeInput) -> Self {
        Self {
            input: Arc::new(input),
            output: |output| matches!(output, MergeOutput::Written).then_some(()),
        }
    }
}

/// What a statement returned: the result of each write, or `None` for a write that needs an operation.
#[derive(Debug)]
pub(crate) struct MergedResults {
    pub(crate) outputs: Vec<Option<MergeOutput>>,
    /// The last sequence number that was assigned, if any.
    pub(crate) last_seq: Option<u64>,
}

impl MergedResults {
    /// The results of writes without events.
    pub(crate) fn without_events(outputs: impl IntoIterator<Item = MergeOutput>) -> Self {
        Self {
            outputs: outputs.into_iter().map(Some).collect(),
            last_seq: None,
        }
    }

    /// Leaves all writes to operations.
    pub(crate) fn none(writes: usize) -> Self {
        Self {
            outputs: std::iter::repeat_with(|| None).take(writes).collect(),
            last_seq: None,
        }
    }

    /// Reads the sequence number that every row has on PostgreSQL. SQLite numbers events at the end of the transaction.
    pub(crate) fn new(outputs: Vec<Option<MergeOutput>>, rows: &[Row]) -> StoreResult<Self> {
        let first = rows.first().filter(|row| matches!(row, Row::Postgres(_)));
        let last = first.map(|row| row.int("last_seq")).transpose()?;
        Ok(Self {
            outputs,
            last_seq: last.and_then(|last| u64::try_from(last).ok()),
        })
    }
}

/// A completed attempt.
#[derive(Debug)]
pub(crate) struct CompletedAttempt {
    pub(crate) attempt: AttemptRef,
    pub(crate) end: Arc<(Outcome, Usage)>,
}

impl CompletedAttempt {
    /// Returns `None` for other outcomes, and for a change that contains the changes of other tasks.
    pub(crate) fn new(attempt: AttemptRef, end: &Arc<(Outcome, Usage)>) -> Option<Self> {
        let Outcome::Completed { proof, .. } = &end.0 else {
            return None;
        };
        let has_parts = |proof: &Proof| !proof.base_parts.is_empty();
        if proof.as_deref().is_some_and(has_parts) {
            return None;
        }
        Some(Self {
            attempt,
            end: Arc::clone(end),
        })
    }
}
