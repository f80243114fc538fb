//! The test suite, one file per topic.

mod api;
mod client;
mod faults;
mod full_run;
mod guard;
mod harness;
mod hostile;
mod stop;
mod store;
mod ws;
