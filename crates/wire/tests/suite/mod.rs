//! The suite, one file for each thing it is about.

mod arbitrary;
mod requests;
mod streams;
