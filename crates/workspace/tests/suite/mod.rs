//! One module per promise, and shared helpers.

mod clone;
mod paths;
