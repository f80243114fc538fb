//! Integration tests with the demo server in the real sandbox.
//!
//! They need the init program of the sandbox in the build directory: build it first with
//! `cargo build -p windlass-sandbox` if you run only these tests.

#[cfg(test)]
mod suite;
