//! Events as bytes, and bytes as a response: what all answers have in common, a script's and an agent's.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::Value;
use windlass_core::Clock;
use windlass_wire::{
    Dialect, Framing, ModelError, ModelEvent, ModelRequest, ModelResponse, ResponseStyle, Route,
    StreamEncoder,
};

/// Writes one answer in its asker's dialect.
#[derive(Debug)]
pub(crate) struct ResponseWriter {
    route: Route,
    style: ResponseStyle,
    writer: StreamEncoder,
}

impl ResponseWriter {
    /// For the answer to this request, begun now.
    pub(crate) fn new(route: &Route, request: &ModelRequest, clock: &dyn Clock) -> Self {
        let style = route.style(request, clock.now().0 / 1000);
        Self {
            route: route.clone(),
            style,
            writer: StreamEncoder::new(route.dialect, style),
        }
    }

    /// The bytes of one event of a streamed answer, where it has any.
    pub(crate) fn write_event(&mut self, event: &ModelEvent) -> Option<Bytes> {
        let bytes = self.writer.push(event);
        (!bytes.is_empty()).then(|| bytes.into())
    }

    /// What says that somebody is still there, and nothing else. Lines have no comments: there it is an empty piece.
    pub(crate) fn keep_alive(&mut self) -> Option<Bytes> {
        match self.route.framing {
            Framing::Sse => Some(Bytes::from_static(b": still there\n\n")),
            Framing::Lines => self.write_event(&ModelEvent::TextDelta {
                text: String::new(),
            }),
            Framing::Array => None,
        }
    }

    /// A frame that no reader of this stream understands. It has a name where frames have one: a nameless one would be skipped.
    pub(crate) fn malformed_frame(&self) -> Bytes {
        Bytes::from_static(match (self.route.framing, self.route.dialect) {
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

    /// The body of a whole answer.
    pub(crate) fn write_body(&self, response: &ModelResponse) -> Bytes {
        let whole = self.route.dialect.render_response(response, self.style);
        whole.into()
    }

    /// The response to a request for a stream.
    pub(crate) fn stream_response(&self, body: Body) -> Response {
        answer(self.route.framing.content_type(), body)
    }

    /// The response to a request for a whole answer.
    pub(crate) fn json_response(&self, body: Body) -> Response {
        answer("application/json", body)
    }
}

fn answer(content_type: &'static str, body: Body) -> Response {
    let headers = [(CONTENT_TYPE, content_type), (CACHE_CONTROL, "no-cache")];
    (headers, body).into_response()
}

/// A failure in the asker's dialect.
pub(crate) fn error_response(dialect: Dialect, error: &ModelError) -> Response {
    let reply = dialect.render_error(error);
    let mut response = Response::new(Body::from(reply.body));
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in reply.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    response
}

/// An object that belongs to no conversation.
pub(crate) fn json(body: &Value) -> Response {
    let headers = [(CONTENT_TYPE, "application/json")];
    (headers, Bytes::from(body.to_string())).into_response()
}
