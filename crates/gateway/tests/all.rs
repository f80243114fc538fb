//! Tests of agents as models over HTTP: with curl and real agents.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and starts the programs under test"
)]

mod suite;
