//! OpenAI responses, the one API that Codex speaks.
//!
//! A conversation is a list of items rather than messages: words, thoughts, calls and results stand side by side, and each carries
//! an id. A stream is a story told in typed, numbered events; its last one repeats the whole answer. Custom tools take
//! plain text, as Codex's `apply_patch` does.

mod adapt;
mod decode;
mod encode;
mod error;
mod items;
mod parse;
mod parse_items;
mod render;

pub(crate) use adapt::{request as carry_request, response as carry_response};
pub(crate) use decode::{Decoder, decode_body as decode};
pub(crate) use encode::{Encoder, encode_body as encode};
pub(crate) use error::{parse as parse_error, render as render_error};
pub(crate) use parse::request as parse_request;
pub(crate) use render::{path, request as render_request};

/// Where a text keeps the fields of the item it stood in.
const ITEM: &str = "item";
