//! The operations of the five APIs, so that a server or a client can treat them alike.

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};

use crate::codec::{Decode, Encode};
use crate::{
    Dialect, ErrorKind, ModelError, ModelEvent, ModelRequest, ModelResponse, ResponseStyle, Route,
    WireError,
};
use crate::{chat, error, event, gemini, json, messages, ollama, responses};

/// Calls a function of the API's module. Every module has the same ones:
///
/// | file | contents |
/// |---|---|
/// | `parse.rs` | parses a request from its JSON |
/// | `render.rs` | renders the JSON of a request, and its path |
/// | `adapt.rs` | reduces a request or a response to what the API supports |
/// | `decode.rs` | decodes the events of a response, streamed or whole |
/// | `encode.rs` | encodes a response from its events, streamed or whole |
/// | `error.rs` | parses and renders errors |
macro_rules! dispatch {
    ($dialect:expr, $($call:tt)+) => {
        match $dialect {
            Dialect::Chat => chat::$($call)+,
            Dialect::Responses => responses::$($call)+,
            Dialect::Messages => messages::$($call)+,
            Dialect::Gemini => gemini::$($call)+,
            Dialect::Ollama => ollama::$($call)+,
        }
    };
}

impl Dialect {
    /// Returns the path of a request, relative to the base URL, such as `/v1/messages`.
    pub fn path(self, request: &ModelRequest) -> String {
        dispatch!(self, path(request))
    }

    /// Reduces a request to what this API supports. The crate documentation has the table.
    #[must_use]
    pub fn adapt_request(self, request: &ModelRequest) -> ModelRequest {
        let mut adapted = request.clone();
        dispatch!(self, adapt_request(&mut adapted));
        adapted
    }

    /// Reduces a response to what this API supports.
    #[must_use]
    pub fn adapt_response(self, response: &ModelResponse) -> ModelResponse {
        let mut adapted = response.clone();
        dispatch!(self, adapt_response(&mut adapted));
        adapted
    }

    /// Renders the body of a request, reduced to what this API supports.
    pub fn render_request(self, request: &ModelRequest) -> Vec<u8> {
        let adapted = self.adapt_request(request);
        dispatch!(self, render_request(&adapted))
            .to_string()
            .into_bytes()
    }

    /// Parses the body of a complete response into events.
    pub fn parse_response(self, body: &[u8]) -> Result<Vec<ModelEvent>, ModelError> {
        let body = json::parse(body).map_err(ModelError::protocol)?;
        let mut events: Vec<ModelEvent> = dispatch!(self, decode(body))?;
        event::name_calls(&mut events);
        Ok(events)
    }

    /// Renders the body of a complete response.
    pub fn render_response(self, response: &ModelResponse, style: ResponseStyle) -> Vec<u8> {
        let adapted = self.adapt_response(response);
        dispatch!(self, encode(&adapted, style))
            .to_string()
            .into_bytes()
    }

    /// Parses the error of a response with a status other than 200. Accepts any body.
    pub fn parse_error(self, status: u16, headers: &[(&str, &str)], body: &[u8]) -> ModelError {
        let mut error = match json::parse(body) {
            Ok(body) => dispatch!(self, parse_error(status, &body)),
            Err(_) => error::from_text(status, body),
        };
        error.retry_after = error::retry_after(headers).or(error.retry_after);
        error
    }

    /// Renders an error that occurs before the response starts. Inside a stream, push [`ModelEvent::Error`].
    pub fn render_error(self, error: &ModelError) -> Response<Vec<u8>> {
        let body = dispatch!(self, render_error(error)).to_string();
        let mut response = Response::new(body.into_bytes());
        *response.status_mut() = self.status(error);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = error::retry_after_secs(error) {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }

    /// Returns the status to send. Anthropic has its own status for overload, and its clients check for it.
    fn status(self, error: &ModelError) -> StatusCode {
        let status = match (self, error.kind, error.status) {
            (Self::Messages, ErrorKind::Overloaded, 503) => 529,
            (_, kind, status) if !(400..=599).contains(&status) => kind.status(),
            (_, _, status) => status,
        };
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub(crate) fn decoder(self) -> Box<dyn Decode> {
        match self {
            Self::Chat => Box::new(chat::Decoder::default()),
            Self::Responses => Box::new(responses::Decoder::default()),
            Self::Messages => Box::new(messages::Decoder::default()),
            Self::Gemini => Box::new(gemini::Decoder::default()),
            Self::Ollama => Box::new(ollama::Decoder::default()),
        }
    }

    pub(crate) fn encoder(self, style: ResponseStyle) -> Box<dyn Encode> {
        match self {
            Self::Chat => Box::new(chat::Encoder::new(style)),
            Self::Responses => Box::new(responses::Encoder::new(style)),
            Self::Messages => Box::new(messages::Encoder::new(style)),
            Self::Gemini => Box::new(gemini::Encoder::new(style)),
            Self::Ollama => Box::new(ollama::Encoder::new(style)),
        }
    }
}

impl Route {
    /// Parses the body of a request that was sent on this route.
    pub fn parse_request(&self, body: &[u8]) -> Result<ModelRequest, WireError> {
        let body = json::parse(body)?;
        dispatch!(self.dialect, parse_request(body, self))
    }
}
