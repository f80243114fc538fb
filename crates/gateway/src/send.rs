//! A script's answer on its way, with every silence and every accident.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures::stream;
use tokio_util::sync::CancellationToken;
use windlass_core::Clock;
use windlass_core::cassette::{Chunk, Exchange, Substitutions};
use windlass_wire::{ModelEvent, ModelRequest, ModelResponse, Route};

use crate::response_writer::ResponseWriter;
use crate::script::Fault;
use crate::scripted_response::ResponseStep;

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseEnd {
    /// As it should.
    Complete,
    /// In silence.
    Hang,
    /// With the connection.
    Cut,
    /// With something that is not what it should be.
    Malformed,
}

impl ResponseEnd {
    /// The ending that a fault means for an answer that has begun.
    pub(crate) fn from_fault(fault: Option<&Fault>) -> Self {
        match fault {
            Some(Fault::HangMidStream) => Self::Hang,
            Some(Fault::Cut) => Self::Cut,
            Some(Fault::Malformed) => Self::Malformed,
            _ => Self::Complete,
        }
    }
}

/// The time, and the end of all waiting.
#[derive(Debug, Clone)]
pub(crate) struct StopTimer {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stopped: CancellationToken,
}

impl StopTimer {
    /// Waits; `false` says that the server stops. Timers count in milliseconds, so nothing must not become one.
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

/// One thing that happens on the wire.
#[derive(Debug, PartialEq, Eq)]
enum SendStep {
    Send(Bytes),
    Rest(Duration),
    Hang,
    Cut,
}

/// Sends an answer as the asker wants it, piece by piece or whole.
pub(crate) async fn send_response(
    route: &Route,
    request: &ModelRequest,
    beats: Vec<ResponseStep>,
    ending: ResponseEnd,
    patience: &StopTimer,
) -> Response {
    let mut scribe = ResponseWriter::new(route, request, &*patience.clock);
    if request.stream {
        let steps = stream_steps(&mut scribe, beats, ending);
        return scribe.stream_response(body(steps, patience.clone()));
    }
    let (events, rests) = split_waits(beats);
    if !patience.wait(rests).await {
        return Response::new(body(vec![SendStep::Cut], patience.clone()));
    }
    // The events are ours, and none of them is an error.
    let response = ModelResponse::from_events(&events).unwrap_or_default();
    let steps = body_steps(&scribe.write_body(&response), ending);
    scribe.json_response(body(steps, patience.clone()))
}

/// Sends an answer as it was recorded, with the places of this request in it.
pub(crate) fn send_recorded(
    recorded: Exchange,
    places: &Substitutions,
    patience: &StopTimer,
) -> Response {
    let restored = |chunk: Chunk| {
        let mut text = chunk.text;
        places.restore_text(&mut text);
        SendStep::Send(text.into())
    };
    let mut steps: Vec<SendStep> = recorded.chunks.into_iter().map(restored).collect();
    if recorded.cut.is_some() {
        steps.push(SendStep::Cut);
    }
    let mut response = Response::new(body(steps, patience.clone()));
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
    scribe: &mut ResponseWriter,
    beats: Vec<ResponseStep>,
    ending: ResponseEnd,
) -> Vec<SendStep> {
    let mut steps: Vec<SendStep> = Vec::with_capacity(beats.len() + 1);
    for beat in beats {
        match beat {
            ResponseStep::Wait(time) => steps.push(SendStep::Rest(time)),
            ResponseStep::Emit(event) => {
                steps.extend(scribe.write_event(&event).map(SendStep::Send))
            }
        }
    }
    match ending {
        ResponseEnd::Complete => {}
        ResponseEnd::Hang => steps.push(SendStep::Hang),
        ResponseEnd::Cut => steps.push(SendStep::Cut),
        ResponseEnd::Malformed => steps.push(SendStep::Send(scribe.malformed_frame())),
    }
    steps
}

/// A whole answer; one that ends badly gets half way.
fn body_steps(whole: &Bytes, ending: ResponseEnd) -> Vec<SendStep> {
    let half = whole.slice(..whole.len() / 2);
    match ending {
        ResponseEnd::Complete => vec![SendStep::Send(whole.clone())],
        ResponseEnd::Hang => vec![SendStep::Send(half), SendStep::Hang],
        ResponseEnd::Cut => vec![SendStep::Send(half), SendStep::Cut],
        ResponseEnd::Malformed => vec![SendStep::Send(half)],
    }
}

fn split_waits(beats: Vec<ResponseStep>) -> (Vec<ModelEvent>, Duration) {
    let mut rests = Duration::ZERO;
    let events = beats.into_iter().filter_map(|beat| match beat {
        ResponseStep::Emit(event) => Some(event),
        ResponseStep::Wait(time) => {
            rests += time;
            None
        }
    });
    (events.collect(), rests)
}

/// The steps as a body. Whole answers have a length; what takes its time is sent in chunks.
fn body(mut steps: Vec<SendStep>, patience: StopTimer) -> Body {
    if let [SendStep::Send(bytes)] = steps.as_mut_slice() {
        return Body::from(std::mem::take(bytes));
    }
    Body::from_stream(stream::unfold((steps.into_iter(), patience), next_chunk))
}

/// What is sent next: an error takes the connection away.
async fn next_chunk<Steps: Iterator<Item = SendStep>>(
    (mut steps, patience): (Steps, StopTimer),
) -> Option<(io::Result<Bytes>, (Steps, StopTimer))> {
    loop {
        let sent = match steps.next()? {
            SendStep::Send(bytes) => Ok(bytes),
            SendStep::Rest(time) if patience.wait(time).await => continue,
            SendStep::Rest(_) => Err(io::Error::other("the model stops")),
            SendStep::Hang => {
                patience.stopped.cancelled().await;
                Err(io::Error::other("the model stops"))
            }
            SendStep::Cut => {
                // What was sent before leaves the machine only while the server has to wait for us.
                tokio::task::yield_now().await;
                Err(io::Error::other("cut by the script"))
            }
        };
        return Some((sent, (steps, patience)));
    }
}
