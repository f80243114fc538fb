//! One module per promise, and what they share.

mod calls;
mod careless;
mod discovery;
mod ends;
mod environment;
mod refusals;
mod support;
