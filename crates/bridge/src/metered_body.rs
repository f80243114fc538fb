//! A response body that passes unchanged while its usage is read.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use windlass_agents::http::ForwardedBody;
use windlass_tasks::CallStatus;
use windlass_wire::{ReportedUsage, UsageReader};

use crate::meter::MeteredCall;
use crate::recording::CallRecording;

/// The most bytes of one response.
const MAX_RESPONSE_BYTES: u64 = 1 << 30;

/// The error that ends a response early.
pub(crate) type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a response.
pub(crate) enum BridgeBody {
    /// One of the bridge's own.
    Own(Option<Bytes>),
    /// The provider's.
    Relayed(Box<MeteredBody>),
}

/// The body of a provider's response. If it is dropped before its end, the agent has disconnected.
pub(crate) struct MeteredBody {
    inner: ForwardedBody,
    /// What is to be settled at the end; `None` after that, and for a call that is not counted.
    call: Option<(MeteredCall, UsageReader)>,
    /// `None` if calls are not recorded.
    recording: Option<CallRecording>,
    status: u16,
    /// The length of the body, if the provider has sent it.
    length: Option<u64>,
    read: u64,
}

impl MeteredBody {
    pub(crate) fn new(
        inner: ForwardedBody,
        status: u16,
        length: Option<u64>,
        call: Option<(MeteredCall, UsageReader)>,
    ) -> Self {
        Self {
            inner,
            call,
            recording: None,
            status,
            length,
            read: 0,
        }
    }

    fn settle(&mut self, is_complete: bool) {
        if let Some(recording) = &mut self.recording {
            recording.finish(is_complete);
        }
        let Some((call, reader)) = self.call.take() else {
            return;
        };
        let found = reader.finish();
        // Agents disconnect when they have the last event.
        let status = if is_complete || found.is_final {
            CallStatus::Done
        } else {
            CallStatus::Interrupted
        };
        call.settle(status, Some(self.status), found);
    }

    fn on_data(&mut self, data: &Bytes) -> Result<(), BodyError> {
        self.read += data.len() as u64;
        if self.read > MAX_RESPONSE_BYTES {
            self.settle(false);
            return Err("the response is too long".into());
        }
        if let Some((_, reader)) = &mut self.call {
            reader.push(data);
        }
        if let Some(recording) = &mut self.recording {
            recording.push(data);
        }
        if self.length == Some(self.read) || self.inner.is_end_stream() {
            self.settle(true);
        }
        Ok(())
    }
}

impl BridgeBody {
    /// Records the body while it is read.
    pub(crate) fn record(&mut self, mut recording: CallRecording) {
        match self {
            Self::Own(bytes) => {
                recording.push(bytes.as_deref().unwrap_or_default());
                recording.finish(true);
            }
            Self::Relayed(body) => body.recording = Some(recording),
        }
    }
}

impl Drop for MeteredBody {
    fn drop(&mut self) {
        self.settle(false);
    }
}

impl Body for BridgeBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let body = match self.get_mut() {
            Self::Own(bytes) => {
                let bytes = bytes.take().filter(|bytes| !bytes.is_empty());
                return Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))));
            }
            Self::Relayed(body) => body,
        };
        let frame = match Pin::new(&mut body.inner).poll_frame(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(frame) => frame,
        };
        Poll::Ready(match frame {
            Some(Ok(frame)) => {
                let checked = frame.data_ref().map_or(Ok(()), |data| body.on_data(data));
                Some(checked.map(|()| frame))
            }
            Some(Err(error)) => {
                body.settle(false);
                Some(Err(error.into()))
            }
            None => {
                body.settle(true);
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Own(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            // The end must be seen.
            Self::Relayed(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Own(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Relayed(body) => match body.length {
                Some(length) => SizeHint::with_exact(length.saturating_sub(body.read)),
                None => SizeHint::default(),
            },
        }
    }
}

/// Returns what a call without a response has reported: nothing.
pub(crate) fn nothing_reported() -> ReportedUsage {
    ReportedUsage::default()
}
