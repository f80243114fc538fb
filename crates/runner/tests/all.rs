//! Tests of the task lifecycle through the public API: single attempts, and a thousand simulated runs with
//! faults.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and a failing seed is printed"
)]

mod suite;
