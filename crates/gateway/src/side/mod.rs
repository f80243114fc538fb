//! What agents ask besides the work itself: lists of models, token counts, titles, routers, reviews.
//!
//! These get a plausible answer and use up no turn of the script.

mod calls;
mod endpoints;

pub(crate) use calls::{SideReply, side_call};
pub(crate) use endpoints::endpoint;
