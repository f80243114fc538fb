//! One module per topic, and shared helpers.

mod calls;
mod discovery;
mod ends;
mod environment;
mod invalid_input;
mod misbehaving;
mod network;
mod support;
