//! Tests of the bridge.

mod budget;
mod provider;
mod relay;
