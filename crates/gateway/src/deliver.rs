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
use windlass_core::cassette::{Chunk, Exchange, Places};
use windlass_wire::{ModelEvent, ModelRequest, ModelResponse, Route};

use crate::answer::Beat;
use crate::scribe::Scribe;
use crate::script::Fault;

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As it should.
    Whole,
    /// In silence.
    Hang,
    /// With the connection.
    Cut,
    /// With something that is not what it should be.
    Malformed,
}

impl Ending {
    /// The ending that a fault means for an answer that has begun.
    pub(crate) fn of(fault: Option<&Fault>) -> Self {
        match fault {
            Some(Fault::HangMidStream) => Self::Hang,
            Some(Fault::Cut) => Self::Cut,
            Some(Fault::Malformed) => Self::Malformed,
            _ => Self::Whole,
        }
    }
}

/// The time, and the end of all waiting.
#[derive(Debug, Clone)]
pub(crate) struct Patience {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stopped: CancellationToken,
}

impl Patience {
    /// Waits; `false` says that the server stops. Timers count in milliseconds, so nothing must not become one.
    pub(crate) async fn rest(&self, time: Duration) -> bool {
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
enum Step {
    Send(Bytes),
    Rest(Duration),
    Hang,
    Cut,
}

/// Sends an answer as the asker wants it, piece by piece or whole.
pub(crate) async fn deliver(
    route: &Route,
    request: &ModelRequest,
    beats: Vec<Beat>,
    ending: Ending,
    patience: &Patience,
) -> Response {
    let mut scribe = Scribe::new(route, request, &*patience.clock);
    if request.stream {
        let steps = streamed(&mut scribe, beats, ending);
        return scribe.streamed(body(steps, patience.clone()));
    }
    let (events, rests) = apart(beats);
    if !patience.rest(rests).await {
        return Response::new(body(vec![Step::Cut], patience.clone()));
    }
    // The events are ours, and none of them is an error.
    let response = ModelResponse::from_events(&events).unwrap_or_default();
    let steps = at_once(&scribe.whole(&response), ending);
    scribe.at_once(body(steps, patience.clone()))
}

/// Sends an answer as it was recorded, with the places of this request in it.
pub(crate) fn replay(recorded: Exchange, places: &Places, patience: &Patience) -> Response {
    let restored = |chunk: Chunk| {
        let mut text = chunk.text;
        places.restore_text(&mut text);
        Step::Send(text.into())
    };
    let mut steps: Vec<Step> = recorded.chunks.into_iter().map(restored).collect();
    if recorded.cut.is_some() {
        steps.push(Step::Cut);
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

fn streamed(scribe: &mut Scribe, beats: Vec<Beat>, ending: Ending) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::with_capacity(beats.len() + 1);
    for beat in beats {
        match beat {
            Beat::Rest(time) => steps.push(Step::Rest(time)),
            Beat::Say(event) => steps.extend(scribe.say(&event).map(Step::Send)),
        }
    }
    match ending {
        Ending::Whole => {}
        Ending::Hang => steps.push(Step::Hang),
        Ending::Cut => steps.push(Step::Cut),
        Ending::Malformed => steps.push(Step::Send(scribe.nonsense())),
    }
    steps
}

/// A whole answer; one that ends badly gets half way.
fn at_once(whole: &Bytes, ending: Ending) -> Vec<Step> {
    let half = whole.slice(..whole.len() / 2);
    match ending {
        Ending::Whole => vec![Step::Send(whole.clone())],
        Ending::Hang => vec![Step::Send(half), Step::Hang],
        Ending::Cut => vec![Step::Send(half), Step::Cut],
        Ending::Malformed => vec![Step::Send(half)],
    }
}

fn apart(beats: Vec<Beat>) -> (Vec<ModelEvent>, Duration) {
    let mut rests = Duration::ZERO;
    let events = beats.into_iter().filter_map(|beat| match beat {
        Beat::Say(event) => Some(event),
        Beat::Rest(time) => {
            rests += time;
            None
        }
    });
    (events.collect(), rests)
}

/// The steps as a body. Whole answers have a length; what takes its time is sent in chunks.
fn body(mut steps: Vec<Step>, patience: Patience) -> Body {
    if let [Step::Send(bytes)] = steps.as_mut_slice() {
        return Body::from(std::mem::take(bytes));
    }
    Body::from_stream(stream::unfold((steps.into_iter(), patience), go_on))
}

/// What is sent next: an error takes the connection away.
async fn go_on<Steps: Iterator<Item = Step>>(
    (mut steps, patience): (Steps, Patience),
) -> Option<(io::Result<Bytes>, (Steps, Patience))> {
    loop {
        let sent = match steps.next()? {
            Step::Send(bytes) => Ok(bytes),
            Step::Rest(time) if patience.rest(time).await => continue,
            Step::Rest(_) => Err(io::Error::other("the model stops")),
            Step::Hang => {
                patience.stopped.cancelled().await;
                Err(io::Error::other("the model stops"))
            }
            Step::Cut => {
                // What was sent before leaves the machine only while the server has to wait for us.
                tokio::task::yield_now().await;
                Err(io::Error::other("cut by the script"))
            }
        };
        return Some((sent, (steps, patience)));
    }
}
