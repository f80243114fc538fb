//! Gemini's generateContent and streamGenerateContent.
//!
//! The path contains the model and whether to stream. Calls are sent whole, with a thought signature that
//! must be returned; a response that waits for a result ends like any other; a stream is server-sent events
//! with `alt=sse` and one long JSON list without.

mod adapt;
mod decode;
mod encode;
mod error;
mod parse;
mod parse_parts;
mod render;

pub(crate) use adapt::{request as adapt_request, response as adapt_response};
pub(crate) use decode::{Decoder, decode_body as decode, usage};
pub(crate) use encode::{Encoder, encode_body as encode};
pub(crate) use error::{parse as parse_error, render as render_error};
pub(crate) use parse::request as parse_request;
pub(crate) use render::{path, request as render_request};
