//! Writing of one response for the client's API, streamed or whole.

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};

use crate::{
    Framing, ModelEvent, ModelRequest, ModelResponse, ResponseStyle, Route, StreamEncoder,
};

/// Writes one response in the client's API.
#[derive(Debug)]
pub struct ResponseWriter {
    route: Route,
    style: ResponseStyle,
    encoder: StreamEncoder,
}

impl ResponseWriter {
    /// Creates a writer for the response to this request. `created` is its start time, in seconds since 1970.
    pub fn new(route: &Route, request: &ModelRequest, created: u64) -> Self {
        let style = route.style(request, created);
        Self {
            route: route.clone(),
            style,
            encoder: StreamEncoder::new(route.dialect, style),
        }
    }

    /// Returns the bytes of one event of a streamed response, possibly none.
    pub fn write_event(&mut self, event: &ModelEvent) -> Vec<u8> {
        self.encoder.push(event)
    }

    /// Returns the bytes of a keep-alive, possibly none. NDJSON has no comments, so there it is an empty text
    /// delta.
    pub fn keep_alive(&mut self) -> Vec<u8> {
        match self.route.framing {
            Framing::Sse => b": keep-alive\n\n".to_vec(),
            Framing::Lines => self.write_event(&ModelEvent::TextDelta {
                text: String::new(),
            }),
            Framing::Array => Vec::new(),
        }
    }

    /// Returns the bytes of a complete response.
    pub fn write_body(&self, response: &ModelResponse) -> Vec<u8> {
        self.route.dialect.render_response(response, self.style)
    }

    /// Creates the HTTP response with a streamed body.
    pub fn stream_response<Body>(&self, body: Body) -> Response<Body> {
        with_content_type(self.route.framing.content_type(), body)
    }

    /// Creates the HTTP response with a complete body.
    pub fn json_response<Body>(&self, body: Body) -> Response<Body> {
        with_content_type("application/json", body)
    }
}

fn with_content_type<Body>(content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
