//! Anthropic messages.
//!
//! Content is sent in blocks with a start, deltas and an end; results are blocks of the user; reasoning is
//! signed and must be returned unchanged; usage is sent in two parts and counts cached tokens separately; an
//! error may arrive inside a stream.

mod adapt;
mod decode;
mod encode;
mod error;
mod parse;
mod render;

pub(crate) use adapt::{request as adapt_request, response as adapt_response};
pub(crate) use decode::{Decoder, decode_body as decode, merged_usage};
pub(crate) use encode::{Encoder, encode_body as encode};
pub(crate) use error::{parse as parse_error, render as render_error};
pub(crate) use parse::request as parse_request;
pub(crate) use render::{path, request as render_request};
