//! Adaptations that several APIs need for a request or a response.
//!
//! Each API's `adapt.rs` picks from these. The result is exactly what the other side gets when it parses it;
//! the property tests verify this for every API.

mod request;
mod response;

pub(crate) use request::*;
pub(crate) use response::*;
