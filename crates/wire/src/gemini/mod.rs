//! Gemini's generateContent and streamGenerateContent.
//!
//! Model and streaming stand in the path. Calls come whole, with a thought signature that must come back; an answer that waits for
//! a result ends like any other; a stream is server-sent events with `alt=sse` and one long JSON list without.

mod carry;
mod decode;
mod encode;
mod error;
mod parse;
mod parse_parts;
mod render;

pub(crate) use carry::{request as carry_request, response as carry_response};
pub(crate) use decode::{Decoder, whole as decode};
pub(crate) use encode::{Encoder, whole as encode};
pub(crate) use error::{parse as parse_error, render as render_error};
pub(crate) use parse::request as parse_request;
pub(crate) use render::{path, request as render_request};
