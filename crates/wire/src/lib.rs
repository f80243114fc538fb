//! The JSON of the model APIs, both ways, as one request and one stream of events.
//!
//! Five APIs ([`Dialect`]) ask a model the same things in different words. This crate reads and writes all of them:
//!
//! - a server finds the API by the path ([`Route::of`]), reads the body ([`Route::parse_request`]) into a [`ModelRequest`], and
//!   answers with [`Dialect::render_response`], a [`StreamWriter`] or [`Dialect::render_error`];
//! - a client writes a request ([`Dialect::render_request`]) and reads the answer with [`Dialect::parse_response`], a
//!   [`StreamReader`] or [`Dialect::parse_error`].
//!
//! It opens no socket, asks no clock and rolls no dice: ids and times are passed in, and the same bytes always give the same
//! events. It keeps what it does not know: fields beyond the common words stay in `extra` and go out again to the API they came
//! from, and to no other.
//!
//! ```
//! use windlass_wire::{AnswerStyle, Dialect, ModelEvent, Route, StreamReader, StreamWriter};
//!
//! // A server meets a Claude client …
//! let route = Route::of("/v1/messages?beta=true").ok_or("not a model API")?;
//! let request = route.parse_request(
//!     br#"{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"ping"}]}"#,
//! )?;
//! assert_eq!(request.last_user_text(), "ping");
//!
//! // … asks an Ollama server …
//! let _body = Dialect::Ollama.render_request(&request);
//! let mut reader = StreamReader::new(Dialect::Ollama);
//! let mut events = reader.push(b"{\"message\":{\"content\":\"pong\"},\"done\":true}\n");
//! events.extend(reader.finish());
//! assert!(events.contains(&ModelEvent::TextDelta { text: "pong".into() }));
//!
//! // … and streams its answer back in the client's own words.
//! let mut writer = StreamWriter::new(Dialect::Messages, route.style(&request, 1_700_000_000));
//! let bytes: Vec<u8> = events.iter().flat_map(|event| writer.push(event)).collect();
//! assert!(bytes.starts_with(b"event: message_start\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What each API cannot carry
//!
//! [`Dialect::carry_request`] and [`Dialect::carry_response`] change a request or an answer into what comes back when the other side
//! reads it. What they change beyond the order of things:
//!
//! | | chat | responses | messages | Gemini | Ollama |
//! |---|---|---|---|---|---|
//! | instructions | are the first message | are one text | stand apart, with the operator's first messages | as messages | are the first message |
//! | operator's later messages | – | – | the user's, unless they came this way | the user's | `developer` is `system` |
//! | messages | – | the assistant's in a row are one | – | – | one text each |
//! | assistant's order | thought, words, calls | – | – | – | thought, words, calls |
//! | thoughts from another API | as plain text | dropped | dropped | dropped | as plain text |
//! | signatures | dropped | on thoughts | on thoughts | on thoughts and calls | dropped |
//! | pictures | – | – | – | by address get a type | by address dropped; type guessed |
//! | freeform tools and calls | – | – | are functions of one field `input` | as messages | as messages |
//! | call input that is no JSON object | – | – | wrapped as `{"input": …}` | as messages | as messages |
//! | a result's `is_error` | dropped | dropped | – | – | dropped |
//! | a result's parts | – | – | – | one text, then pictures | one text, then pictures |
//! | tool choice | – | – | – | – | dropped |
//! | parallel calls | – | – | need a choice | dropped | dropped |
//! | `strict` of a tool | – | – | – | dropped | dropped |
//! | plain JSON output | – | – | dropped | – | – |
//! | a schema's name and strictness | get a name | get a name | dropped | dropped | dropped |
//! | sampling | no `top_k` | only temperature, `top_p` | no seed, no penalties | – | – |
//! | no limit on tokens | – | – | 8192 | – | – |
//! | id of an answer | – | – | – | – | dropped |
//! | stop reasons | no sequence, no pause | only limit, refusal, calls | – | only limit, refusal, calls | only limit, calls |
//! | usage | – | – | – | no cache writes | input and output only |
//!
//! Everywhere: fields in `extra`, opaque parts and hosted tools go only to the API they came from; empty parts and messages are dropped;
//! results in a row are one message; of several choices or candidates the first is read. Nothing here fetches a picture,
//! counts a token, or checks a schema.

mod adapt;
mod chat;
mod dialect;
mod error;
mod event;
mod frame;
mod gemini;
mod json;
mod lenient;
mod message;
mod messages;
mod ollama;
mod parse_common;
mod request;
mod response;
mod responses;
mod route;
mod stream;
mod time;
mod tool;
mod tool_calls;

pub use dialect::Dialect;
pub use error::{ErrorKind, ErrorResponse, ModelError, WireError};
pub use event::{ModelEvent, StopReason, TokenUsage};
pub use frame::{Framing, MAX_EVENT_BYTES};
pub use json::MAX_DEPTH;
pub use message::{Image, ImageSource, Message, Opaque, Part, Reasoning, Role, Text};
pub use request::{Extra, JsonSchema, ModelRequest, OutputFormat, Sampling};
pub use response::{ModelResponse, ResponseBuilder};
pub use route::Route;
pub use stream::{ResponseStyle, StreamDecoder, StreamEncoder};
pub use tool::{
    FreeformTool, FunctionTool, Grammar, ToolCall, ToolChoice, ToolDefinition, ToolInputKind,
    ToolResult,
};
