//! Tests of the server over real sockets, with a real store.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod suite;
