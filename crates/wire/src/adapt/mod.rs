//! Changes that several APIs need before they can carry a request or an answer.
//!
//! Each API's own `carry.rs` picks from these; what remains is exactly what comes back when the other side reads it, which the
//! property tests hold every API to.

mod request;
mod response;

pub(crate) use request::*;
pub(crate) use response::*;
