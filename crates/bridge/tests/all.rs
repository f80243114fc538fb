//! Tests of the bridge on a scripted provider.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod suite;
