//! Ollama's native `/api/chat`.
//!
//! One JSON object per line. Arguments are objects. Older servers send calls without ids; ids are made from
//! the response's time and the call's position. Images are fields of the message without a media type, and
//! `format` is the schema itself.

mod adapt;
mod decode;
mod encode;
mod error;
mod parse;
mod render;

pub(crate) use adapt::{request as adapt_request, response as adapt_response};
pub(crate) use decode::{Decoder, decode_body as decode, usage};
pub(crate) use encode::{Encoder, encode_body as encode};
pub(crate) use error::{parse as parse_error, render as render_error};
pub(crate) use parse::request as parse_request;
pub(crate) use render::{path, request as render_request};

/// Returns the type of an image, derived from the start of its base64 data, because Ollama sends none.
fn media_type(data: &str) -> &'static str {
    match data.get(..4) {
        Some("/9j/") => "image/jpeg",
        Some("R0lG") => "image/gif",
        Some("UklG") => "image/webp",
        _ => "image/png",
    }
}
