//! The five APIs behind one name, so that a server or a client can treat them alike.

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
    /// OpenAI chat completions, `/v1/chat/completions`, which most other servers speak too.
    Chat,
    /// OpenAI responses, `/v1/responses`, the only one that Codex speaks.
    Responses,
    /// Anthropic messages, `/v1/messages`.
    Messages,
    /// Gemini, `/v1beta/models/MODEL:generateContent` and `:streamGenerateContent`.
    Gemini,
    /// Ollama's own, `/api/chat`.
    Ollama,
}

/// Calls a function of the API's room. Every room has the same ones:
///
/// | file | holds |
/// |---|---|
/// | `parse.rs` | a request from its JSON |
/// | `render.rs` | the JSON of a request, and the path it goes to |
/// | `carry.rs` | what this API can carry of a request and of an answer |
/// | `decode.rs` | the events of an answer, streamed or whole |
/// | `encode.rs` | an answer from its events, streamed or whole |
/// | `error.rs` | a failure from its body, and back |
macro_rules! room {
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
    /// All five.
    pub const ALL: [Self; 5] = [
        Self::Chat,
        Self::Responses,
        Self::Messages,
        Self::Gemini,
        Self::Ollama,
    ];

    /// The name, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// How its streams are usually framed.
    pub fn framing(self) -> Framing {
        match self {
            Self::Ollama => Framing::Lines,
            _ => Framing::Sse,
        }
    }

    /// Where a client sends this request, after the base address: `/v1/messages`.
    pub fn path(self, request: &ModelRequest) -> String {
        room!(self, path(request))
    }

    /// What this API can carry of a request; the table is in the crate's documentation.
    #[must_use]
    pub fn adapt_request(self, request: &ModelRequest) -> ModelRequest {
        let mut carried = request.clone();
        room!(self, carry_request(&mut carried));
        carried
    }

    /// What this API can carry of an answer.
    #[must_use]
    pub fn adapt_response(self, response: &ModelResponse) -> ModelResponse {
        let mut carried = response.clone();
        room!(self, carry_response(&mut carried));
        carried
    }

    /// The body of a request, saying what this API can carry of it.
    pub fn render_request(self, request: &ModelRequest) -> Vec<u8> {
        let carried = self.adapt_request(request);
        room!(self, render_request(&carried))
            .to_string()
            .into_bytes()
    }

    /// The events of a whole answer's body.
    pub fn parse_response(self, body: &[u8]) -> Result<Vec<ModelEvent>, ModelError> {
        let body = json::parse(body).map_err(ModelError::protocol)?;
        room!(self, decode(body))
    }

    /// The body of a whole answer.
    pub fn render_response(self, response: &ModelResponse, style: ResponseStyle) -> Vec<u8> {
        let carried = self.adapt_response(response);
        room!(self, encode(&carried, style))
            .to_string()
            .into_bytes()
    }

    /// The failure that a status other than 200 means, whatever the body is.
    pub fn parse_error(self, status: u16, headers: &[(&str, &str)], body: &[u8]) -> ModelError {
        let mut found = match json::parse(body) {
            Ok(body) => room!(self, parse_error(status, &body)),
            Err(_) => error::from_text(status, body),
        };
        found.retry_after = error::retry_after(headers).or(found.retry_after);
        found
    }

    /// A failure as this API says it before an answer has begun; inside a stream, push [`ModelEvent::Error`].
    pub fn render_error(self, error: &ModelError) -> ErrorResponse {
        ErrorResponse {
            status: self.status(error),
            headers: error::retry_header(error),
            body: room!(self, render_error(error)).to_string().into_bytes(),
        }
    }

    /// Anthropic has a status of its own for overload, which its clients look for.
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
    /// The request in a body that came this way.
    pub fn parse_request(&self, body: &[u8]) -> Result<ModelRequest, WireError> {
        let body = json::parse(body)?;
        room!(self.dialect, parse_request(body, self))
    }
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
