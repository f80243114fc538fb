//! Integration tests on this machine. Nothing is skipped: a missing requirement is a failure that names it.

#[cfg(test)]
mod suite;
