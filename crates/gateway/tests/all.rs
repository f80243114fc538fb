//! The scripted model from outside: curl, the providers' own SDKs, and real agents.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and starts the programs that it is about"
)]

mod suite;
