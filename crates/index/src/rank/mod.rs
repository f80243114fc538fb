//! Which files and symbols a task is about.
//!
//! Several signals look at each file, each from its own side; every one is brought to the range from zero to one, and
//! they are added up by a few fixed weights ([`fuse`]).

mod commits;
mod explain;
mod fuse;
mod kind;
mod query;
mod references;
mod symbol_hits;
mod text;

pub(crate) use explain::explain;
pub(crate) use fuse::{Ranked, Scored, rank};
pub(crate) use query::RankQuery;
pub(crate) use symbol_hits::symbol_hits;
