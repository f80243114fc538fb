//! All tests of the crate's public API, in one binary.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    unreachable_pub,
    reason = "a test fails by panicking, and shares a file with the fuzzers that is public there"
)]

mod suite;
