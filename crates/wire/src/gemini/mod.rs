//! Gemini's generateContent and streamGenerateContent.
//!
//! Model and streaming stand in the path. Calls come whole, with a thought signature that must come back; an answer that waits for
//! a result ends like any other; a stream is server-sent events with `alt=sse` and one long JSON list without.

mod adapt;
mod decode;
mod encode;
mod error;
mod parse;
mod parse_parts;
mod render;

pub(crate) use adapt::{request as carry_request, response as carry_response};
pub(crate) use decode::{Decoder, decode_body as decode};
pub(crate) use encode::{Encoder, encode_body as encode};
pub(crate) use error::{parse as parse_error, render as render_error};
pub(crate) use parse::request as parse_request;
pub(crate) use render::{path, request as render_request};
