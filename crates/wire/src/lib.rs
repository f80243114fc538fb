//! Reads and writes the JSON of five model APIs, with one request type and one event stream.
//!
//! The five APIs ([`Dialect`]) send the same requests to a model in different formats. This crate reads and
//! writes all of them:
//!
//! - A server finds the API by the path ([`Route::parse`]), reads the body ([`Route::parse_request`]) into a
//!   [`ModelRequest`], and responds with a [`ResponseWriter`] or [`Dialect::render_error`]. [`model_list`]
//!   has the lists of models.
//! - A client writes a request ([`Dialect::render_request`]) and reads the response with
//!   [`Dialect::parse_response`], a [`StreamDecoder`] or [`Dialect::parse_error`].
//!
//! The crate opens no socket, reads no clock and uses no random numbers: ids and times are passed in, and the
//! same bytes always give the same events. It keeps unknown fields: fields that have no common equivalent
//! stay in `extra` and are written again for the API they came from, and for no other.
//!
//! ```
//! use windlass_wire::{Dialect, ModelEvent, ResponseStyle, Route, StreamDecoder, StreamEncoder};
//!
//! // A server receives a request from a Claude client, …
//! let route = Route::parse("/v1/messages?beta=true").ok_or("not a model API")?;
//! let request = route.parse_request(
//!     br#"{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"ping"}]}"#,
//! )?;
//! assert_eq!(request.last_user_text(), "ping");
//!
//! // … sends it to an Ollama server …
//! let _body = Dialect::Ollama.render_request(&request);
//! let mut decoder = StreamDecoder::new(Dialect::Ollama);
//! let mut events = decoder.push(b"{\"message\":{\"content\":\"pong\"},\"done\":true}\n");
//! events.extend(decoder.finish());
//! assert!(events.contains(&ModelEvent::TextDelta { text: "pong".into() }));
//!
//! // … and streams the response back in the client's API.
//! let mut encoder = StreamEncoder::new(Dialect::Messages, route.style(&request, 1_700_000_000));
//! let bytes: Vec<u8> = events.iter().flat_map(|event| encoder.push(event)).collect();
//! assert!(bytes.starts_with(b"event: message_start\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What each API does not support
//!
//! [`Dialect::adapt_request`] and [`Dialect::adapt_response`] change a request or a response into the form
//! that the other side gets when it parses it. Apart from the order of fields, they change this:
//!
//! | | chat | responses | messages | Gemini | Ollama |
//! |---|---|---|---|---|---|
//! | instructions | are the first message | are one text | are separate, with the leading system messages | as messages | are the first message |
//! | later system messages | – | – | become the user's, unless they came from this API | become the user's | `developer` becomes `system` |
//! | messages | – | consecutive assistant messages are joined | – | – | one text each |
//! | order of assistant parts | reasoning, text, calls | – | – | – | reasoning, text, calls |
//! | reasoning from another API | as plain text | dropped | dropped | dropped | as plain text |
//! | signatures | dropped | on reasoning | on reasoning | on reasoning and calls | dropped |
//! | images | – | – | – | given by URL get a type | given by URL are dropped; type guessed |
//! | freeform tools and calls | – | – | become functions with one field `input` | as messages | as messages |
//! | call input that is not a JSON object | – | – | wrapped as `{"input": …}` | as messages | as messages |
//! | a result's `is_error` | dropped | dropped | – | – | dropped |
//! | a result's parts | – | – | – | one text, then images | one text, then images |
//! | tool choice | – | – | – | – | dropped |
//! | parallel calls | – | – | need a tool choice | dropped | dropped |
//! | `strict` of a tool | – | – | – | dropped | dropped |
//! | plain JSON output | – | – | dropped | – | – |
//! | a schema's name and strictness | get a name | get a name | dropped | dropped | dropped |
//! | sampling | no `top_k` | only temperature, `top_p` | no seed, no penalties | – | – |
//! | no limit on tokens | – | – | 8192 | – | – |
//! | id of a response | – | – | – | – | dropped |
//! | stop reasons | no sequence, no pause | only limit, refusal, calls | – | only limit, refusal, calls | only limit, calls |
//! | usage | – | – | – | no cache writes | input and output only |
//!
//! For every API: fields in `extra`, opaque parts and hosted tools are sent only to the API they came from;
//! empty parts and messages are dropped; consecutive results become one message; of several choices or
//! candidates, only the first is read. This crate does not fetch images, count tokens or validate against
//! schemas.

mod adapt;
mod chat;
mod codec;
mod dialect;
mod dispatch;
mod error;
mod event;
mod frame;
mod frame_text;
mod gemini;
mod json;
mod lenient;
mod message;
mod messages;
pub mod model_list;
mod ollama;
mod opaque;
mod parse_common;
mod relay;
mod request;
mod response;
mod response_writer;
mod responses;
mod route;
mod stream;
mod time;
mod tool;
mod tool_calls;
mod usage_reader;
mod wait_text;

pub use codec::ResponseStyle;
pub use dialect::Dialect;
pub use error::{ErrorKind, ModelError, WireError};
pub use event::{ModelEvent, StopReason, TokenUsage};
pub use frame::{Framing, MAX_EVENT_BYTES};
pub use frame_text::{
    FramePart, TextChannel, all_strings, ends_texts, frame_parts, replace_parts, split_frames,
};
pub use json::MAX_DEPTH;
pub use message::{Image, ImageSource, Message, Part, Reasoning, Role, Text, ToolResult};
pub use opaque::{Extra, Opaque};
pub use relay::{RelayedFrames, StreamRelay};
pub use request::{JsonSchema, ModelRequest, OutputFormat, Sampling};
pub use response::{ModelResponse, ResponseBuilder};
pub use response_writer::ResponseWriter;
pub use route::Route;
pub use stream::{StreamDecoder, StreamEncoder};
pub use time::rfc3339;
pub use tool::{
    FreeformTool, FunctionTool, Grammar, ToolCall, ToolChoice, ToolDefinition, ToolInputKind,
};
pub use usage_reader::{ReportedUsage, UsageReader};
pub use wait_text::{parse_wait, wait_in_text};
