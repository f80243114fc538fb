//! The life of a task, from outside: what each attempt does, and what a thousand interleaved ones may not do.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and a seed that fails is printed"
)]

mod suite;
