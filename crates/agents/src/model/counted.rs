//! Counts the calls of a model: the bridge admits each before it is sent, and learns how it ended.

use std::fmt;
use std::sync::Arc;

use windlass_wire::{ModelError, ModelEvent, ReportedUsage};

use crate::bridge::{CountedCall, ModelBridge, ModelRoute, OwnRequest};

/// Where calls are counted, and for which work.
#[derive(Debug, Clone)]
pub(super) struct CallCounter {
    pub(super) bridge: Arc<dyn ModelBridge>,
    pub(super) route: ModelRoute,
}

impl CallCounter {
    /// Counts a call. The error is why it may not be sent.
    pub(super) async fn begin(&self, request: OwnRequest) -> Result<CallRecord, ModelError> {
        let call = self.bridge.begin_call(self.route.clone(), request).await?;
        Ok(CallRecord {
            call: Some(call),
            ..CallRecord::default()
        })
    }
}

/// A call, until its end. One that is dropped before was interrupted.
#[derive(Default)]
pub(super) struct CallRecord {
    /// `None` after the end, and for a call that is not counted.
    call: Option<Box<dyn CountedCall>>,
    found: ReportedUsage,
    /// The answer has started, so it costs something.
    has_started: bool,
}

impl CallRecord {
    pub(super) async fn on_event(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Error(error) if self.has_started => {
                let found = ReportedUsage {
                    error: Some(error.clone()),
                    ..std::mem::take(&mut self.found)
                };
                self.end(Ok(found)).await;
            }
            ModelEvent::Error(error) => self.end(Err(error.clone())).await,
            _ => self.has_started = true,
        }
        match event {
            ModelEvent::Start { model, .. } => self.found.model = Some(model.clone()),
            ModelEvent::Usage(usage) => self.found.usage = Some(*usage),
            event if event.is_terminal() => {
                let found = ReportedUsage {
                    is_final: true,
                    ..std::mem::take(&mut self.found)
                };
                self.end(Ok(found)).await;
            }
            _ => {}
        }
    }

    /// Notes that the answer has started.
    pub(super) fn set_started(&mut self) {
        self.has_started = true;
    }

    /// Ends the call.
    pub(super) async fn end(&mut self, end: Result<ReportedUsage, ModelError>) {
        if let Some(call) = self.call.take() {
            call.end(end).await;
        }
    }
}

impl fmt::Debug for CallRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallRecord")
            .field("found", &self.found)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;
    use parking_lot::Mutex;
    use windlass_wire::ErrorKind;

    use super::*;

    /// Writes down how it ended.
    struct FakeCall(Arc<Mutex<Vec<&'static str>>>);

    impl CountedCall for FakeCall {
        fn end(self: Box<Self>, end: Result<ReportedUsage, ModelError>) -> BoxFuture<'static, ()> {
            self.0.lock().push(match end {
                Ok(found) if found.is_final => "done",
                Ok(_) => "interrupted",
                Err(_) => "failed",
            });
            Box::pin(std::future::ready(()))
        }
    }

    impl Drop for FakeCall {
        fn drop(&mut self) {
            self.0.lock().push("dropped");
        }
    }

    async fn ends(events: &[ModelEvent]) -> Vec<&'static str> {
        let ends: Arc<Mutex<Vec<&'static str>>> = Arc::default();
        let mut record = CallRecord {
            call: Some(Box::new(FakeCall(Arc::clone(&ends)))),
            ..CallRecord::default()
        };
        for event in events {
            record.on_event(event).await;
        }
        drop(record);
        std::mem::take(&mut *ends.lock())
    }

    #[tokio::test]
    async fn p26_answer_that_fails_after_its_start_is_not_free() {
        let error = ModelEvent::Error(ModelError::new(ErrorKind::Overloaded, "busy"));
        let text = ModelEvent::TextDelta {
            text: "half".to_owned(),
        };
        assert_eq!(
            ends(std::slice::from_ref(&error)).await,
            ["failed", "dropped"]
        );
        assert_eq!(
            ends(&[text.clone(), error]).await,
            ["interrupted", "dropped"]
        );
        // A call that is only dropped was interrupted, too: what it reserved counts.
        assert_eq!(ends(&[text]).await, ["dropped"]);
    }
}
