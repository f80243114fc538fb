//! One module per promise, and what they share.

mod bounds;
mod environment;
mod matrix;
mod refusals;
mod support;
mod tree;
mod walls;
