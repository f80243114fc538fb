//! A reply to a write that the caller may stop waiting for at any time.

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;
use windlass_tasks::StoreResult;

use crate::write_job::UndoFn;
use crate::write_queue::WriteQueue;

/// A reply in flight. If the caller drops it after the reply was sent but before it was received, the
/// operation is undone.
pub(crate) struct PendingReply<T> {
    pub(crate) receiver: oneshot::Receiver<StoreResult<T>>,
    pub(crate) undo: Option<UndoFn<T>>,
    pub(crate) queue: WriteQueue,
}

impl<T> Drop for PendingReply<T> {
    fn drop(&mut self) {
        // After this, a send fails and the sender undoes the operation itself.
        self.receiver.close();
        let (Some(undo), Ok(Ok(value))) = (self.undo, self.receiver.try_recv()) else {
            return;
        };
        let Some(job) = undo(value) else {
            return;
        };
        if let Err(TrySendError::Full(job)) = self.queue.try_send(job)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let queue = self.queue.clone();
            runtime.spawn(async move { queue.send(job).await });
        }
    }
}
