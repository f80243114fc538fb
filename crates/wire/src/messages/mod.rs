//! Anthropic messages.
//!
//! Content comes in blocks with a beginning, deltas and an end; results are blocks of the user's; thoughts are signed and must come
//! back unchanged; usage is told in two halves and counts cached tokens apart; a failure may arrive inside a good stream.

mod adapt;
mod decode;
mod encode;
mod error;
mod parse;
mod render;

pub(crate) use adapt::{request as carry_request, response as carry_response};
pub(crate) use decode::{Decoder, decode_body as decode};
pub(crate) use encode::{Encoder, encode_body as encode};
pub(crate) use error::{parse as parse_error, render as render_error};
pub(crate) use parse::request as parse_request;
pub(crate) use render::{path, request as render_request};
