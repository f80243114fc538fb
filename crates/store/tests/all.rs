//! Tests of the store through its public API.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod suite;
