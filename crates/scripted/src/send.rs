//! Sending of a script's response, with its waits and faults.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures::stream;
use tokio_util::sync::CancellationToken;
use windlass_cassette::{Chunk, Exchange, Substitutions};
use windlass_core::Clock;
use windlass_wire::{
    Dialect, Framing, ModelEvent, ModelRequest, ModelResponse, ResponseWriter, Route,
};

use crate::script::Fault;
use crate::scripted_response::ResponseStep;

/// How a response ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseEnd {
    /// Regularly.
    Complete,
    /// The connection stays open and nothing more is sent.
    Hang,
    /// The connection is closed early.
    Cut,
    /// With a malformed frame.
    Malformed,
}

impl ResponseEnd {
    /// Returns the end that a fault means for a response that has started.
    pub(crate) fn from_fault(fault: Option<&Fault>) -> Self {
        match fault {
            Some(Fault::HangMidStream) => Self::Hang,
            Some(Fault::Cut) => Self::Cut,
            Some(Fault::Malformed) => Self::Malformed,
            _ => Self::Complete,
        }
    }
}

/// A clock with a stop signal that ends all waiting.
#[derive(Debug, Clone)]
pub(crate) struct StopTimer {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stopped: CancellationToken,
}

impl StopTimer {
    /// Waits for the given time. Returns `false` if the server is stopping. Timers have millisecond
    /// resolution, so a zero wait returns immediately.
    pub(crate) async fn wait(&self, time: Duration) -> bool {
        if time.is_zero() {
            return true;
        }
        tokio::select! {
            () = self.stopped.cancelled() => false,
            () = self.clock.sleep(time) => true,
        }
    }
}

/// One step of sending.
#[derive(Debug, PartialEq, Eq)]
enum SendStep {
    Send(Bytes),
    Wait(Duration),
    Hang,
    Cut,
}

/// Sends a response as the client requested it, streamed or whole.
pub(crate) async fn send_response(
    route: &Route,
    request: &ModelRequest,
    response_steps: Vec<ResponseStep>,
    end: ResponseEnd,
    timer: &StopTimer,
) -> Response {
    let mut writer = ResponseWriter::new(route, request, timer.clock.now().0 / 1000);
    if request.stream {
        let steps = stream_steps(route, &mut writer, response_steps, end);
        return writer.stream_response(body(steps, timer.clone()));
    }
    let (events, total_wait) = split_waits(response_steps);
    if !timer.wait(total_wait).await {
        return Response::new(body(vec![SendStep::Cut], timer.clone()));
    }
    // The events are from the script, and none of them is an error.
    let response = ModelResponse::from_events(&events).unwrap_or_default();
    let steps = body_steps(&writer.write_body(&response).into(), end);
    writer.json_response(body(steps, timer.clone()))
}

/// Sends a recorded response, with the substitutions of this request.
pub(crate) fn send_recorded(
    recorded: Exchange,
    substitutions: &Substitutions,
    timer: &StopTimer,
) -> Response {
    let restore = |chunk: Chunk| {
        let mut text = chunk.text;
        substitutions.restore_text(&mut text);
        SendStep::Send(text.into())
    };
    let mut steps: Vec<SendStep> = recorded.chunks.into_iter().map(restore).collect();
    if recorded.cut.is_some() {
        steps.push(SendStep::Cut);
    }
    let mut response = Response::new(body(steps, timer.clone()));
    *response.status_mut() =
        StatusCode::from_u16(recorded.status).unwrap_or(StatusCode::BAD_GATEWAY);
    for (name, value) in recorded.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn stream_steps(
    route: &Route,
    writer: &mut ResponseWriter,
    response_steps: Vec<ResponseStep>,
    end: ResponseEnd,
) -> Vec<SendStep> {
    let mut steps: Vec<SendStep> = Vec::with_capacity(response_steps.len() + 1);
    for step in response_steps {
        match step {
            ResponseStep::Wait(time) => steps.push(SendStep::Wait(time)),
            ResponseStep::Emit(event) => {
                let bytes = writer.write_event(&event);
                if !bytes.is_empty() {
                    steps.push(SendStep::Send(bytes.into()));
                }
            }
        }
    }
    match end {
        ResponseEnd::Complete => {}
        ResponseEnd::Hang => steps.push(SendStep::Hang),
        ResponseEnd::Cut => steps.push(SendStep::Cut),
        ResponseEnd::Malformed => steps.push(SendStep::Send(malformed_frame(route))),
    }
    steps
}

/// Returns a frame that no decoder of this stream can parse. It has a name where frames have one, because a
/// nameless one would be skipped.
fn malformed_frame(route: &Route) -> Bytes {
    Bytes::from_static(match (route.framing, route.dialect) {
        (Framing::Sse, Dialect::Messages) => {
            b"event: content_block_delta\ndata: {\"scripted\": nonsense\n\n"
        }
        (Framing::Sse, Dialect::Responses) => {
            b"event: response.output_text.delta\ndata: {\"scripted\": nonsense\n\n"
        }
        (Framing::Sse, _) => b"data: {\"scripted\": nonsense\n\n",
        (Framing::Lines, _) => b"{\"scripted\": nonsense\n",
        (Framing::Array, _) => b",{\"scripted\": nonsense",
    })
}

/// Returns the steps of a complete body. With a fault, only half of it is sent.
fn body_steps(body: &Bytes, end: ResponseEnd) -> Vec<SendStep> {
    let half = body.slice(..body.len() / 2);
    match end {
        ResponseEnd::Complete => vec![SendStep::Send(body.clone())],
        ResponseEnd::Hang => vec![SendStep::Send(half), SendStep::Hang],
        ResponseEnd::Cut => vec![SendStep::Send(half), SendStep::Cut],
        ResponseEnd::Malformed => vec![SendStep::Send(half)],
    }
}

fn split_waits(steps: Vec<ResponseStep>) -> (Vec<ModelEvent>, Duration) {
    let mut total_wait = Duration::ZERO;
    let events = steps.into_iter().filter_map(|step| match step {
        ResponseStep::Emit(event) => Some(event),
        ResponseStep::Wait(time) => {
            total_wait += time;
            None
        }
    });
    (events.collect(), total_wait)
}

/// Returns the steps as a body. A complete response has a length; one with waits or faults is chunked.
fn body(mut steps: Vec<SendStep>, timer: StopTimer) -> Body {
    if let [SendStep::Send(bytes)] = steps.as_mut_slice() {
        return Body::from(std::mem::take(bytes));
    }
    Body::from_stream(stream::unfold((steps.into_iter(), timer), next_chunk))
}

/// Returns the next chunk. An error closes the connection.
async fn next_chunk<Steps: Iterator<Item = SendStep>>(
    (mut steps, timer): (Steps, StopTimer),
) -> Option<(io::Result<Bytes>, (Steps, StopTimer))> {
    loop {
        let sent = match steps.next()? {
            SendStep::Send(bytes) => Ok(bytes),
            SendStep::Wait(time) if timer.wait(time).await => continue,
            SendStep::Wait(_) => Err(io::Error::other("the model is shutting down")),
            SendStep::Hang => {
                timer.stopped.cancelled().await;
                Err(io::Error::other("the model is shutting down"))
            }
            SendStep::Cut => {
                // Yield, because the server flushes the preceding chunks only while it waits for the body.
                tokio::task::yield_now().await;
                Err(io::Error::other("interrupted by the script"))
            }
        };
        return Some((sent, (steps, timer)));
    }
}
