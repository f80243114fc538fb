//! The integration tests of the crate, in one binary so that they link once.

mod suite;
