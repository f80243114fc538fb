//! An answer that somebody waits for, and may stop waiting for at any moment.

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;
use windlass_core::task::StoreResult;

use crate::write_job::UndoFn;
use crate::write_queue::WriteQueue;

/// An answer on its way. Whoever leaves after it was sent and before it was taken has it undone.
pub(crate) struct PendingReply<T> {
    pub(crate) answer: oneshot::Receiver<StoreResult<T>>,
    pub(crate) undo: Option<UndoFn<T>>,
    pub(crate) lane: WriteQueue,
}

impl<T> Drop for PendingReply<T> {
    fn drop(&mut self) {
        // From here on the sender knows that nobody listens, and undoes it itself.
        self.answer.close();
        let (Some(undo), Ok(Ok(value))) = (self.undo, self.answer.try_recv()) else {
            return;
        };
        let Some(work) = undo(value) else {
            return;
        };
        if let Err(TrySendError::Full(work)) = self.lane.try_send(work)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let lane = self.lane.clone();
            runtime.spawn(async move { lane.send(work).await });
        }
    }
}
