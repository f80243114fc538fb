//! Secrets never leave their type: `Debug` says only that there is one, and nothing serialises it.

pub use secrecy::{ExposeSecret, SecretString};
