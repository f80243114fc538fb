//! Ollama's own `/api/chat`.
//!
//! One JSON object per line. Arguments are objects, older servers give calls no ids (they are made from the answer's time and
//! the call's place), pictures hang on the message without a media type, and `format` is the schema itself.

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

/// The type of a picture, seen from the beginning of its base64: here it travels without one.
fn media_type(data: &str) -> &'static str {
    match data.get(..4) {
        Some("/9j/") => "image/jpeg",
        Some("R0lG") => "image/gif",
        Some("UklG") => "image/webp",
        _ => "image/png",
    }
}
