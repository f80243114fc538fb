//! One module per promise, and what they share.

mod paths;
mod place;
