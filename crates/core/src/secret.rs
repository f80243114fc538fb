//! Secrets: `Debug` prints a placeholder, and they cannot be serialized.

pub use secrecy::{ExposeSecret, SecretString};
