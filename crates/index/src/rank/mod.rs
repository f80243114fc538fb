//! Which files and symbols a task is about.
//!
//! Several signals look at each file, each from its own side; every one is brought to the range from zero to one, and
//! they are added up by a few fixed weights ([`fuse`]).

mod fuse;
mod kind;
mod links;
mod past;
mod places;
mod query;
mod text;
mod why;

pub(crate) use fuse::{Ranked, Scored, rank};
pub(crate) use places::places;
pub(crate) use query::Query;
pub(crate) use why::why;
