//! The five APIs as one enum, so that a server or a client can treat them alike.

use serde::{Deserialize, Serialize};

use crate::stream::{Decode, Encode};
use crate::{
    ErrorKind, ErrorResponse, Framing, ModelError, ModelEvent, ModelRequest, ModelResponse,
    ResponseStyle, Route, WireError,
};
use crate::{chat, error, gemini, json, messages, ollama, responses};

/// A model API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// OpenAI chat completions, `/v1/chat/completions`, which most other servers support too.
    Chat,
    /// OpenAI responses, `/v1/responses`, the only API that Codex supports.
    Responses,
    /// Anthropic messages, `/v1/messages`.
    Messages,
    /// Gemini, `/v1beta/models/MODEL:generateContent` and `:streamGenerateContent`.
    Gemini,
    /// Ollama's native API, `/api/chat`.
    Ollama,
}

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
    /// All five dialects.
    pub const ALL: [Self; 5] = [
        Self::Chat,
        Self::Responses,
        Self::Messages,
        Self::Gemini,
        Self::Ollama,
    ];

    /// Returns the name, as used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Returns the default framing of its streams.
    pub fn framing(self) -> Framing {
        match self {
            Self::Ollama => Framing::Lines,
            _ => Framing::Sse,
        }
    }

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
        dispatch!(self, decode(body))
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
    pub fn render_error(self, error: &ModelError) -> ErrorResponse {
        ErrorResponse {
            status: self.status(error),
            headers: error::retry_header(error),
            body: dispatch!(self, render_error(error))
                .to_string()
                .into_bytes(),
        }
    }

    /// Returns the status to send. Anthropic has its own status for overload, and its clients check for it.
    fn status(self, error: &ModelError) -> u16 {
        match (self, error.kind, error.status) {
            (Self::Messages, ErrorKind::Overloaded, 503) => 529,
            (_, kind, status) if !(400..=599).contains(&status) => kind.status(),
            (_, _, status) => status,
        }
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

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
