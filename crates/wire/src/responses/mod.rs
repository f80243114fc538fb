//! OpenAI responses, the only API that Codex supports.
//!
//! A conversation is a list of items rather than messages: text, reasoning, calls and results are separate
//! items, and each has an id. A stream consists of typed, numbered events; the last one repeats the whole
//! response. Custom tools take plain text, as Codex's `apply_patch` does.

mod adapt;
mod decode;
mod encode;
mod error;
mod items;
mod parse;
mod parse_items;
mod render;

pub(crate) use adapt::{request as adapt_request, response as adapt_response};
pub(crate) use decode::{Decoder, decode_body as decode, usage};
pub(crate) use encode::{Encoder, encode_body as encode};
pub(crate) use error::{parse as parse_error, render as render_error};
pub(crate) use parse::request as parse_request;
pub(crate) use render::{path, request as render_request};

/// The key under which a text stores the fields of its item.
const ITEM: &str = "item";
