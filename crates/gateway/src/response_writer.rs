//! Encoding of events as HTTP responses, shared by scripted models and agents.

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

/// Writes one response in the client's dialect.
#[derive(Debug)]
pub(crate) struct ResponseWriter {
    route: Route,
    style: ResponseStyle,
    encoder: StreamEncoder,
}

impl ResponseWriter {
    /// Creates a writer for the response to this request, which starts now.
    pub(crate) fn new(route: &Route, request: &ModelRequest, clock: &dyn Clock) -> Self {
        let style = route.style(request, clock.now().0 / 1000);
        Self {
            route: route.clone(),
            style,
            encoder: StreamEncoder::new(route.dialect, style),
        }
    }

    /// Returns the bytes of one event of a streamed response, if it has any.
    pub(crate) fn write_event(&mut self, event: &ModelEvent) -> Option<Bytes> {
        let bytes = self.encoder.push(event);
        (!bytes.is_empty()).then(|| bytes.into())
    }

    /// Returns the bytes of a keep-alive. NDJSON has no comments, so there it is an empty text delta.
    pub(crate) fn keep_alive(&mut self) -> Option<Bytes> {
        match self.route.framing {
            Framing::Sse => Some(Bytes::from_static(b": keep-alive\n\n")),
            Framing::Lines => self.write_event(&ModelEvent::TextDelta {
                text: String::new(),
            }),
            Framing::Array => None,
        }
    }

    /// Returns a frame that no decoder of this stream can parse. It has a name where frames have one, because
    /// a nameless one would be skipped.
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

    /// Returns the body of a complete response.
    pub(crate) fn write_body(&self, response: &ModelResponse) -> Bytes {
        let body = self.route.dialect.render_response(response, self.style);
        body.into()
    }

    /// Creates the HTTP response for a streamed body.
    pub(crate) fn stream_response(&self, body: Body) -> Response {
        with_content_type(self.route.framing.content_type(), body)
    }

    /// Creates the HTTP response for a complete body.
    pub(crate) fn json_response(&self, body: Body) -> Response {
        with_content_type("application/json", body)
    }
}

fn with_content_type(content_type: &'static str, body: Body) -> Response {
    let headers = [(CONTENT_TYPE, content_type), (CACHE_CONTROL, "no-cache")];
    (headers, body).into_response()
}

/// Renders an error in the client's dialect.
pub(crate) fn error_response(dialect: Dialect, error: &ModelError) -> Response {
    let rendered = dialect.render_error(error);
    let mut response = Response::new(Body::from(rendered.body));
    *response.status_mut() =
        StatusCode::from_u16(rendered.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in rendered.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    response
}

/// Responds with a JSON object.
pub(crate) fn json(body: &Value) -> Response {
    let headers = [(CONTENT_TYPE, "application/json")];
    (headers, Bytes::from(body.to_string())).into_response()
}
