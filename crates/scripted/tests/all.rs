//! Tests of the scripted model over HTTP: with curl, the providers' SDKs, and real agents.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and starts the programs under test"
)]

mod suite;
