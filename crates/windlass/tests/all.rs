//! The integration tests of the crate, in one binary so that they link once.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod suite;
