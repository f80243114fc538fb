//! Tests of JSON extraction.

mod extract;
mod hostile;
