//! The test suite, one file per topic.

mod arbitrary;
mod corpus;
mod errors;
mod frames;
mod golden;
mod lenient;
mod relay;
mod requests;
mod streams;
