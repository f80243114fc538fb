//! Tests of the bridge.

mod budget;
mod limits;
mod provider;
mod recording;
mod relay;
