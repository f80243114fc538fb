//! Ranks the files and symbols for a task.
//!
//! Several signals score each file. Each score is normalized to the range from zero to one, and the scores
//! are added with a few fixed weights ([`fuse`]).

mod commits;
mod definitions;
mod explain;
mod fuse;
mod kind;
mod query;
mod symbol_hits;
mod text;

pub(crate) use explain::explain;
pub(crate) use fuse::{Ranked, Scored, rank};
pub(crate) use query::RankQuery;
pub(crate) use symbol_hits::symbol_hits;
