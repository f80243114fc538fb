//! The contract of the store, from outside.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod suite;
