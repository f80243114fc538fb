//! Tests of the bridge on a scripted provider.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod suite;
