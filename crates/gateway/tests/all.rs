//! The scripted model from outside: curl, the providers' own SDKs, and real agents.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, says what it leaves out, and starts the programs that it is about"
)]

mod suite;
