//! State shared by all requests.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use windlass_core::Clock;

use crate::{AgentApiLimits, ModelCatalog, ModelLookupError, ServedModel, TraceSink};

/// State shared by all requests.
pub(crate) struct ApiState {
    pub(crate) models: Arc<dyn ModelCatalog>,
    pub(crate) traces: Arc<dyn TraceSink>,
    /// The parent of the requests' temporary directories.
    pub(crate) request_dirs: PathBuf,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: AgentApiLimits,
    /// One permit per concurrent request.
    pub(crate) permits: Arc<Semaphore>,
    /// The number of requests that are being served or cleaned up.
    jobs: watch::Sender<usize>,
    pub(crate) stopped: CancellationToken,
}

impl ApiState {
    pub(crate) fn new(
        models: Arc<dyn ModelCatalog>,
        traces: Arc<dyn TraceSink>,
        request_dirs: PathBuf,
        clock: Arc<dyn Clock>,
        limits: AgentApiLimits,
    ) -> Self {
        let permits = limits.concurrent.min(Semaphore::MAX_PERMITS);
        Self {
            models,
            traces,
            request_dirs,
            clock,
            limits,
            permits: Arc::new(Semaphore::new(permits)),
            jobs: watch::Sender::new(0),
            stopped: CancellationToken::new(),
        }
    }

    /// Returns the number of active requests.
    pub(crate) fn active_requests(&self) -> usize {
        *self.jobs.borrow()
    }

    /// Aborts all active requests and waits for their end.
    pub(crate) async fn close(&self) {
        self.stopped.cancel();
        let mut jobs = self.jobs.subscribe();
        // This cannot fail because `self` holds the sender.
        let _ = jobs.wait_for(|jobs| *jobs == 0).await;
    }

    /// Counts one more active request until the returned guard is dropped.
    pub(crate) fn track_request(self: &Arc<Self>) -> ActiveRequest {
        self.jobs.send_modify(|jobs| *jobs += 1);
        ActiveRequest(Arc::clone(self))
    }

    /// Returns the model with the given name. Ollama clients may append a tag to it.
    pub(crate) fn find(&self, name: &str) -> Result<ServedModel, ModelLookupError> {
        let found = self.models.find(name);
        match (found, name.strip_suffix(":latest")) {
            (Err(_), Some(plain)) => self.models.find(plain),
            (found, _) => found,
        }
    }
}

/// A guard that counts one active request.
pub(crate) struct ActiveRequest(Arc<ApiState>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.jobs.send_modify(|jobs| *jobs -= 1);
    }
}

impl fmt::Debug for ApiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiState")
            .field("request_dirs", &self.request_dirs)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
