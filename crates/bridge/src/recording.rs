//! Records what agents send to their models and what they get back.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use windlass_cassette::{Exchange, ExchangeBuilder};
use windlass_core::Clock;
use windlass_tasks::CallLabels;

/// Takes every call that has ended, in the order of their ends.
pub trait CallRecorder: fmt::Debug + Send + Sync {
    /// Takes one call. It contains no key of a provider, but it is not normalized.
    fn record(&self, labels: &CallLabels, exchange: Exchange);

    /// Returns when everything is written that was recorded before. May block for a short time.
    fn flush(&self) {}
}

/// A call that is being recorded. If it is dropped before its end, the agent has disconnected.
pub(crate) struct CallRecording {
    recorder: Arc<dyn CallRecorder>,
    labels: CallLabels,
    clock: Arc<dyn Clock>,
    started: Duration,
    /// `None` after the end.
    exchange: Option<ExchangeBuilder>,
}

impl CallRecording {
    pub(crate) fn new(
        recorder: &Arc<dyn CallRecorder>,
        clock: &Arc<dyn Clock>,
        labels: &CallLabels,
        exchange: ExchangeBuilder,
    ) -> Self {
        Self {
            recorder: Arc::clone(recorder),
            labels: labels.clone(),
            started: clock.elapsed(),
            clock: Arc::clone(clock),
            exchange: Some(exchange),
        }
    }

    /// Adds the start of the response.
    pub(crate) fn start(&mut self, head: &http::response::Parts) {
        let headers = head.headers.iter();
        let headers = headers.map(|(name, value)| (name.as_str(), value.as_bytes()));
        if let Some(exchange) = &mut self.exchange {
            exchange.start(head.status.as_u16(), headers);
        }
    }

    /// Adds bytes of the response.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let at = self.elapsed();
        if let Some(exchange) = &mut self.exchange {
            exchange.push(at, bytes);
        }
    }

    /// Ends the recording.
    pub(crate) fn finish(&mut self, is_complete: bool) {
        let cut = (!is_complete).then(|| self.elapsed());
        if let Some(exchange) = self.exchange.take() {
            self.recorder.record(&self.labels, exchange.finish(cut));
        }
    }

    fn elapsed(&self) -> Duration {
        self.clock.elapsed().saturating_sub(self.started)
    }
}

impl Drop for CallRecording {
    fn drop(&mut self) {
        self.finish(false);
    }
}
