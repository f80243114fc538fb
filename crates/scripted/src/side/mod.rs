//! Requests of agents outside the conversation: model lists, token counts, titles, routers, reviews.
//!
//! They get a plausible answer and do not use a turn of the script.

mod calls;
mod endpoints;

pub(crate) use calls::{SideReply, side_call};
pub(crate) use endpoints::endpoint;
