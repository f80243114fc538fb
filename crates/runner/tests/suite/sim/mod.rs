//! A world in which a runner can be watched: its time, its store, its places and its agents are all made up, and may
//! fail in every way that real ones do.

pub(crate) mod agent;
pub(crate) mod clock;
pub(crate) mod faults;
pub(crate) mod memory;
pub(crate) mod place;
pub(crate) mod store;
pub(crate) mod world;

pub(crate) mod check;
pub(crate) mod fate;
mod seeds;
