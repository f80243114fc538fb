//! One module per topic, and shared helpers.

mod attacks;
mod contract;
mod editing;
mod finding;
mod sandbox;
mod support;
