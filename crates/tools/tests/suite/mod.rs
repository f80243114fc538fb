//! One module per promise, and what they share.

mod attacks;
mod contract;
mod editing;
mod finding;
mod support;
mod walls;
