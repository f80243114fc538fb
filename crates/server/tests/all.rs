//! The server from outside: over real sockets, on a real store.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod suite;
