//! The suite, one file for each thing it is about.

mod arbitrary;
mod corpus;
mod errors;
mod frames;
mod golden;
mod lenient;
mod requests;
mod streams;
