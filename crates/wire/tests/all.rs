//! All tests of the crate's surface, in one binary.

mod suite;
