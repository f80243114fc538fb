//! OpenAI chat completions, which most other model servers support too.
//!
//! Instructions are a message like any other, reasoning is sent as `reasoning_content` (DeepSeek's and Qwen's
//! field, which OpenAI itself never sends), and a streamed call's arguments arrive as fragments of a string
//! under an index.

mod adapt;
mod decode;
mod encode;
pub(crate) mod error;
mod parse;
mod render;

pub(crate) use adapt::{request as adapt_request, response as adapt_response};
pub(crate) use decode::{Decoder, decode_body as decode, usage};
pub(crate) use encode::{Encoder, encode_body as encode};
pub(crate) use error::{parse as parse_error, render as render_error};
pub(crate) use parse::request as parse_request;
pub(crate) use render::{image_url, path, request as render_request};
