//! Tests of the index on temporary directories.

#[cfg(test)]
mod suite;
